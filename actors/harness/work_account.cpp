#include "actors/harness/work_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chalk::actors {

namespace {

milliseconds between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
    return std::chrono::duration_cast<milliseconds>(to - from);
}

} // namespace

std::uint64_t to_micros(double usd) noexcept {
    return static_cast<std::uint64_t>(std::llround(std::max(usd, 0.0) * 1e6));
}

void work_account::begin(time_point now) {
    began_ = began_.value_or(now);
    working_since_ = now;
}

void work_account::pause(time_point now) {
    if (working_since_) {
        worked_ += between(*working_since_, now);
        working_since_.reset();
    }
}

void work_account::add_model_wait(milliseconds duration, const token_usage& usage) noexcept {
    use_.waited += duration;
    use_.tokens += usage.input + usage.output;
}

milliseconds work_account::worked(time_point now) const {
    const auto all = worked_ + (working_since_ ? between(*working_since_, now) : milliseconds{0});
    return std::max(all - use_.waited, milliseconds{0});
}

std::optional<limit_reached> work_account::reached(const config::work_limits& limits, time_point now,
                                                   std::string_view whose) const {
    const auto is_reached = [&](limit_kind kind, std::uint64_t value, std::uint64_t limit, std::string_view unit) {
        return limit_reached{kind, value, fmt::format("{} of {} {} is reached", whose, limit, unit)};
    };
    const auto is_spent = [&](limit_kind kind, milliseconds spent, seconds limit, std::string_view unit) {
        return is_reached(kind, static_cast<std::uint64_t>(spent.count()), static_cast<std::uint64_t>(limit.count()),
                          unit);
    };
    if (limits.max_turns && use_.turns >= *limits.max_turns) {
        return is_reached(limit_kind::turns, use_.turns, *limits.max_turns, "turns");
    }
    if (const auto spent = between(began_.value_or(now), now); limits.max_time && spent >= *limits.max_time) {
        return is_spent(limit_kind::time, spent, *limits.max_time, "s");
    }
    if (const auto spent = worked(now); limits.max_working_time && spent >= *limits.max_working_time) {
        return is_spent(limit_kind::working_time, spent, *limits.max_working_time, "s of work");
    }
    if (limits.max_total_tokens && use_.tokens >= *limits.max_total_tokens) {
        return is_reached(limit_kind::total_tokens, use_.tokens, *limits.max_total_tokens, "tokens");
    }
    if (limits.max_usd && use_.usd >= *limits.max_usd) {
        return limit_reached{limit_kind::usd, to_micros(use_.usd),
                             fmt::format("{} of {} USD is reached", whose, *limits.max_usd)};
    }
    return std::nullopt;
}

std::optional<milliseconds> work_account::time_left(const config::work_limits& limits, time_point now) const {
    if (!limits.max_time) {
        return std::nullopt;
    }
    return std::max<milliseconds>(*limits.max_time - between(began_.value_or(now), now), milliseconds{1});
}

} // namespace chalk::actors
