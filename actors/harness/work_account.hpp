/// What a step, or all steps of a run, took so far, against its limits. Without a clock: its owner says what time it
/// is.
///
/// Owner: the limit watch.
#pragma once

#include "config/run_config.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace chalk::actors {

/// What model calls took.
struct model_use {
    std::uint64_t turns = 0;
    std::uint64_t tokens = 0; ///< input and output
    milliseconds waited{0};
    double usd = 0;
};

/// Millionths of a US dollar, as limit_reached has them.
[[nodiscard]] std::uint64_t to_micros(double usd) noexcept;

class work_account {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Work begins, or goes on after a pause that is no work (a judge's). The wall clock runs from the first time.
    void begin(time_point now);
    void pause(time_point now);

    void add_turn() noexcept { ++use_.turns; }
    /// Of a turn that was aborted too.
    void add_model_wait(milliseconds duration, const token_usage& usage) noexcept;
    /// Where somebody else counts.
    void set_use(const model_use& all) noexcept { use_ = all; }
    [[nodiscard]] const model_use& use() const noexcept { return use_; }

    /// `whose` goes into the message: "step 2: the limit", "step 2: the run's limit".
    [[nodiscard]] std::optional<limit_reached> reached(const config::work_limits& limits, time_point now,
                                                       std::string_view whose) const;
    /// Until the limit on wall time; at least a millisecond.
    [[nodiscard]] std::optional<milliseconds> time_left(const config::work_limits& limits, time_point now) const;

  private:
    [[nodiscard]] milliseconds worked(time_point now) const;

    std::optional<time_point> began_;
    std::optional<time_point> working_since_; ///< absent while paused
    milliseconds worked_{0};                  ///< before working_since_
    model_use use_;
};

} // namespace chalk::actors
