/// What a step, or all steps of a run, took so far, against its limits. Without a clock: its owner says what time it
/// is.
///
/// Owner: the agent loop.
#pragma once

#include "config/run_config.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace chalk::actors {

class work_account {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Work begins, or goes on after a pause that is no work (a judge's). The wall clock runs from the first time.
    void begin(time_point now);
    void pause(time_point now);

    void add_turn() noexcept { ++turns_; }
    /// Of a turn that was aborted too.
    void add_model_wait(milliseconds duration, const token_usage& usage) noexcept;

    [[nodiscard]] std::uint32_t turns() const noexcept { return turns_; }

    [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }

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
    milliseconds waited_{0};                  ///< for the model
    std::uint32_t turns_ = 0;
    std::uint64_t tokens_ = 0;
};

} // namespace chalk::actors
