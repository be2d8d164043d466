#include "actors/run/run_deadlines.hpp"

#include <fmt/format.h>

namespace chalk::actors {

namespace {

double in_seconds(milliseconds t) {
    return static_cast<double>(t.count()) / 1000;
}

} // namespace

std::optional<milliseconds> deadline_of(const run_deadlines& deadlines, run_phase phase) {
    switch (phase) {
    case run_phase::setup:
        return deadlines.setup;
    case run_phase::agent:
        return deadlines.agent;
    case run_phase::score:
        return deadlines.score;
    }
    return std::nullopt;
}

failure took_too_long(std::string_view what, milliseconds deadline) {
    return timeout_failure(fmt::format("{} took longer than {} s", what, in_seconds(deadline)));
}

failure took_too_long(const run_deadlines& deadlines, run_phase phase) {
    switch (phase) {
    case run_phase::setup:
        return deadlines.setup ? timeout_failure(fmt::format("the harness did not reach the first step within {} s",
                                                             in_seconds(*deadlines.setup)))
                               : timeout_failure(fmt::format("the harness said nothing within {} s of its start",
                                                             in_seconds(deadlines.first_event)));
    case run_phase::agent:
        return took_too_long("the agent's work on a step", deadlines.agent.value_or(milliseconds{}));
    case run_phase::score:
        return took_too_long("scoring a step", deadlines.score.value_or(milliseconds{}));
    }
    return timeout_failure("the run took too long");
}

} // namespace chalk::actors
