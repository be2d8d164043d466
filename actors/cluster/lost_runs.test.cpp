#include "actors/cluster/lost_runs.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

const node_id north = node_id::parse("north").value();
const node_id south = node_id::parse("south").value();
constexpr run_key first_run{0, 0};
constexpr run_key second_run{0, 1};

} // namespace

TEST_CASE("a lost node's runs are run again, and they alone") {
    lost_runs runs;
    REQUIRE(runs.sent(second_run, north));
    REQUIRE(runs.sent(first_run, north));
    REQUIRE(runs.sent({5, 0}, south));
    CHECK_FALSE(runs.sent(first_run, south));
    const auto lost = runs.node_lost(north);
    REQUIRE(lost.size() == 2);
    CHECK(lost[0].run == first_run);
    CHECK(lost[1].run == second_run);
    CHECK(lost[0].losses == 1);
    CHECK_FALSE(lost[0].how);
    CHECK_FALSE(runs.where(first_run));
    CHECK(runs.where({5, 0}) == south);
    CHECK(runs.node_lost(north).empty());
    CHECK(runs.avoided(first_run) == std::set{north});
}

TEST_CASE("a run whose node was lost three times ends as node_lost, and says which nodes it were") {
    lost_runs runs;
    for (const auto& [node, last] : {std::pair{north, false}, {south, false}, {north, true}}) {
        REQUIRE(runs.sent(first_run, node));
        const auto lost = runs.node_lost(node);
        REQUIRE(lost.size() == 1);
        REQUIRE(lost[0].how.has_value() == last);
        if (last) {
            CHECK(lost[0].how->kind == error_class::node_lost);
            CHECK(lost[0].how->message == "the run's node was lost 3 times: north, south, north");
        }
    }
    CHECK(runs.kept_runs() == 0);
}

TEST_CASE("losses before a restart count") {
    lost_runs runs;
    runs.lost_before(first_run, 2);
    REQUIRE(runs.sent(first_run, south));
    CHECK(runs.node_lost(south).at(0).how);
}

TEST_CASE("the schedule says the same of every loss, and charges none") {
    lost_runs runs;
    schedule_rules rules;
    rules.retry.max_attempts = 2;
    schedule plan(
        1, [](std::uint64_t from) { return from == 0 ? std::optional(from) : std::nullopt; }, rules);
    for (std::uint32_t i = 1; i <= schedule::max_node_losses; ++i) {
        REQUIRE(plan.next({}) == schedule::assignment{first_run, i});
        REQUIRE(runs.sent(first_run, north));
        const bool gives_up = runs.node_lost(north).at(0).how.has_value();
        CHECK((plan.lost(first_run, {}) == schedule::after_loss::give_up) == gives_up);
    }
    CHECK(plan.complete());
    CHECK(plan.counts().retries == 0);
}

TEST_CASE("a run that failed avoids its node next time, one that was given back does not") {
    lost_runs runs;
    REQUIRE(runs.sent(first_run, north));
    runs.returned(first_run, false);
    CHECK(runs.kept_runs() == 0);
    REQUIRE(runs.sent(first_run, north));
    runs.returned(first_run, true);
    runs.returned(first_run, true);
    CHECK(runs.avoided(first_run) == std::set{north});
    CHECK(runs.out_on(north).empty());
    REQUIRE(runs.sent(first_run, south));
    runs.closed(first_run);
    CHECK(runs.kept_runs() == 0);
    CHECK(runs.avoided(first_run).empty());
    CHECK(runs.node_lost(south).empty());
}
