/// A coordinator for tests, with nodes that join at once and a journal that answers at once unless a test says
/// otherwise, in virtual time.
#pragma once

#include "actors/cluster/coordinator.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace chalk::test {

using namespace chalk::actors; // of a test's own helpers

inline node_id node_named(std::string_view name) {
    return node_id::parse(name).value();
}

/// The n-th run.
constexpr run_key run_at(std::uint64_t n) {
    return {0, n};
}

inline node_offer offer_of(std::uint32_t cpus) {
    node_offer offer;
    offer.version = "1.0";
    offer.capacity = {.memory = {}, .disk = {}, .processes = 0, .milli_cpus = cpus * 1'000, .open_files = 0};
    return offer;
}

inline run_needs one_cpu() {
    run_needs needs;
    needs.wanted.milli_cpus = 1'000;
    return needs;
}

inline coordinator_rules strict_rules() {
    return {.terms = terms_for(milliseconds(12'000)), // suspect after 5 s, surely ended after 15.1 s
            .quarantines = {.max_errors = 2,
                            .window = milliseconds(60'000),
                            .backoff = milliseconds(10'000),
                            .max_backoff = milliseconds(60'000)},
            .version = "1.0",
            .epoch = 1,
            .slack = 0};
}

/// The decisions of one kind, in their order.
template<class Decision>
std::vector<Decision> of_kind(const std::vector<coordinator_decision>& all) {
    std::vector<Decision> some;
    for (const auto& one : all) {
        if (const auto* its = std::get_if<Decision>(&one)) {
            some.push_back(*its);
        }
    }
    return some;
}

struct coordinated {
    explicit coordinated(coordinator_rules rules = strict_rules(), const std::vector<lease>& leases = {},
                         const std::vector<adopted_run>& adopted = {})
        : book(coordinator::open(std::move(rules), leases, adopted, now).value()) {}

    coordinator_time now{std::chrono::hours(1)};
    coordinator book;

    /// All decisions of that kind since the last call; those of other kinds are dropped.
    template<class Decision>
    std::vector<Decision> decided() {
        return of_kind<Decision>(book.take_decisions());
    }

    lease join(std::string_view name, std::uint32_t cpus) {
        const auto id = node_named(name);
        REQUIRE(book.hello(id, offer_of(cpus), std::nullopt, now) == membership::entry::anew);
        const auto its = book.lease_of(id).value();
        book.granted(its, now);
        return its;
    }

    void pass(milliseconds time) {
        now += time;
        book.tick(now);
    }
    /// Time passes and that node is heard of meanwhile.
    void pass_with(milliseconds time, const lease& its) {
        for (; time > milliseconds(0); time -= milliseconds(1'000)) {
            now += std::min(time, milliseconds(1'000));
            REQUIRE(book.renew(its.node, its.number, now));
        }
    }

    /// Requested; nullopt: it waits. Its start is durable if it is placed.
    std::optional<decision::place> request(run_key run, attempt_number attempt = attempt_number{1},
                                           const run_needs& needs = one_cpu()) {
        static_cast<void>(book.take_decisions());
        book.request(run, attempt, needs);
        const auto placed = decided<decision::place>();
        if (placed.empty()) {
            return std::nullopt;
        }
        book.started(placed.front().name);
        return placed.front();
    }
    /// Placed for sure.
    decision::place place(run_key run, attempt_number attempt = attempt_number{1}) {
        auto placed = request(run, attempt);
        REQUIRE(placed);
        return *placed;
    }

    result_standing result_of(const decision::place& what, const outcome& how = outcome::passed()) {
        return book.result_came(what.name, what.node, journalled_name::absent, how, now);
    }

    [[nodiscard]] member_state state_of(std::string_view name) const {
        for (const auto& one : book.nodes()) {
            if (one.node.str() == name) {
                return one.state;
            }
        }
        FAIL("no such node");
        return member_state::lost;
    }
};

} // namespace chalk::test
