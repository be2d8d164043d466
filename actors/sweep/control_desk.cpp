#include "actors/sweep/control_desk.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::actors {

control_desk::control_desk(std::string node, std::size_t most_out, std::optional<std::size_t> at_once)
    : node_(std::move(node)), most_out_(most_out), window_(window_for(at_once)) {}

std::size_t control_desk::window_for(std::optional<std::size_t> at_once) const {
    return at_once ? std::min(most_out_, with_slack(*at_once)) : most_out_;
}

std::string control_desk::pause() {
    paused_ = true;
    return "paused: nothing more starts, what is under way goes on";
}

std::string control_desk::resume() {
    paused_ = false;
    return "resumed";
}

result<std::string> control_desk::limit(std::optional<std::size_t> at_once) {
    if (at_once && *at_once == 0) {
        return config_failure("concurrency must be at least 1: to start nothing more, pause");
    }
    window_ = window_for(at_once);
    return at_once ? fmt::format("at most {} runs at once from now on", *at_once)
                   : std::string("as many runs at once as the machine has room for");
}

result<std::string> control_desk::drain(const std::string& node) {
    if (node != node_) {
        return config_failure(fmt::format("there is no node {}; nodes: {}", node, node_));
    }
    drained_ = true;
    return fmt::format("{} is drained: nothing more starts there, what is under way goes on", node_);
}

std::string control_desk::look(const sweep_view& view) const {
    const char* how = view.ending            ? "ending"
                      : view.stopping        ? "stopping"
                      : paused_              ? "paused"
                      : view.journal_blocked ? "waiting for the journal"
                      : drained_             ? "drained"
                      : view.node_short      ? "waiting for room"
                      : view.budget_held     ? "waiting for the budget"
                                             : "running";
    return json{{"state", how},
                {"total", view.counts.total},
                {"ended", view.counts.ended()},
                {"under_way", view.under_way},
                {"passed", view.counts.passed},
                {"failed", view.counts.failed},
                {"errors", view.counts.errors},
                {"skipped", view.counts.skipped},
                {"retries", view.counts.retries},
                {"tokens", view.spent.tokens},
                {"usd", view.spent.usd}}
        .dump();
}

} // namespace chalk::actors
