#include "actors/harness/limit_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

void limit_watch::begin_step(std::size_t step, time_point now) {
    index_ = step;
    step_ = {};
    step_.begin(now);
    run_.begin(now);
    before_step_ = run_.use();
}

void limit_watch::add_turn() noexcept {
    step_.add_turn();
    run_.add_turn();
}

void limit_watch::add_model_wait(milliseconds duration, const token_usage& usage) noexcept {
    step_.add_model_wait(duration, usage);
    run_.add_model_wait(duration, usage);
}

void limit_watch::set_usd(double run) noexcept {
    auto all = run_.use();
    all.usd = run;
    set_use(all);
}

void limit_watch::set_use(const model_use& run) noexcept {
    run_.set_use(run);
    step_.set_use({run.turns - before_step_.turns, run.tokens - before_step_.tokens, run.waited - before_step_.waited,
                   run.usd - before_step_.usd});
}

std::optional<limit_reached> limit_watch::reached(time_point now) const {
    if (limits_.max_context_tokens && context_tokens_ >= *limits_.max_context_tokens) {
        return limit_reached{
            limit_kind::context_tokens, context_tokens_,
            fmt::format("step {}: the limit of {} tokens of context is reached", index_, *limits_.max_context_tokens)};
    }
    if (auto limit = step_.reached(limits_, now, fmt::format("step {}: the limit", index_))) {
        return limit;
    }
    return run_.reached(limits_.run, now, fmt::format("step {}: the run's limit", index_));
}

std::optional<milliseconds> limit_watch::time_left(time_point now) const {
    const auto step = step_.time_left(limits_, now);
    const auto run = run_.time_left(limits_.run, now);
    return step && run ? std::min(*step, *run) : step ? step : run;
}

bool limit_watch::limits_use() const noexcept {
    const auto any = [](const config::work_limits& of) {
        return of.max_turns || of.max_working_time || of.max_total_tokens || of.max_usd;
    };
    return limits_.max_context_tokens || any(limits_) || any(limits_.run);
}

} // namespace chalk::actors
