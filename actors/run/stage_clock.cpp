#include "actors/run/stage_clock.hpp"

namespace chalk::actors {

namespace {

std::optional<milliseconds>& duration_of(journal::stage_durations& all, run_stage which) {
    switch (which) {
    case run_stage::prepare:
        return all.prepare;
    case run_stage::setup:
        return all.setup;
    case run_stage::agent:
        return all.agent;
    case run_stage::score:
        return all.score;
    case run_stage::teardown:
        break;
    }
    return all.teardown;
}

milliseconds time_between(stage_clock::clock::time_point from, stage_clock::clock::time_point to) {
    return std::chrono::duration_cast<milliseconds>(to - from);
}

} // namespace

void stage_clock::leave(clock::time_point now) {
    if (at_) {
        auto& took = duration_of(took_, *at_);
        took = took.value_or(milliseconds{}) + time_between(entered_, now);
    }
}

void stage_clock::enter(run_stage next, clock::time_point now) {
    if (!at_) {
        began_ = now;
    }
    leave(now);
    at_ = next;
    entered_ = now;
}

journal::stage_durations stage_clock::finish(clock::time_point now) {
    leave(now);
    if (at_) {
        took_.whole = time_between(began_, now);
    }
    at_.reset();
    return took_;
}

} // namespace chalk::actors
