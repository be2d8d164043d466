#include "actors/harness/student_firewall.hpp"

#include "runtimes/confinement/firewall/firewall.hpp"
#include "runtimes/confinement/firewall/nftables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace chalk::actors {

namespace {

using state = host_channel::student_firewall::state;

constexpr milliseconds patience{1'500};

std::vector<firewall::target> with_a_route(const std::vector<firewall::target>& all) {
    std::vector<firewall::target> known;
    std::copy_if(all.begin(), all.end(), std::back_inserter(known), firewall::has_route);
    return known;
}

} // namespace

result<void> check_tool_port(const host_channel::student_firewall& firewall, std::uint16_t port, bool agent_needs_it) {
    const auto& closed = firewall.closed_ports;
    if (firewall.how == state::none || agent_needs_it ||
        std::find(closed.begin(), closed.end(), port) != closed.end()) {
        return {};
    }
    return harness_failure(
        fmt::format("the student's firewall leaves port {} open, on which the tool server listens", port));
}

bool needs_firewall_check(const firewall_options& options) {
    switch (options.description.how) {
    case state::none:
        return false;
    case state::applied:
        return std::any_of(options.outside.begin(), options.outside.end(), firewall::has_route);
    case state::wanted:
        return true;
    }
    return false;
}

result<std::string> check_firewall(const firewall_options& options) {
    std::string found;
    if (options.description.how == state::wanted) {
        const firewall::policy policy{options.student, options.description.closed_ports,
                                      options.description.internal ? firewall::network_reach::internal
                                                                   : firewall::network_reach::local};
        auto applied = firewall::apply(firewall::make_rules(policy), options.student, firewall::student_table);
        if (!applied) {
            return applied.error();
        }
        found = fmt::format("student firewall by {}: {}; ", firewall::to_string(*applied), firewall::describe(policy));
    }
    const auto outside = with_a_route(options.outside);
    if (outside.empty()) {
        return found + "no way out to try";
    }
    const auto tried = firewall::try_to_reach(outside, options.student, patience);
    if (!tried) {
        return tried.error();
    }
    for (const auto& one : *tried) {
        if (one.answered) {
            return harness_failure(fmt::format(
                "refusing to run: the student's firewall is set, and yet {} answered the student", one.to.str()));
        }
    }
    return found + fmt::format("of {} outside addresses none answered the student", tried->size());
}

} // namespace chalk::actors
