/// What an agent took so far, against the limits of its step and of its run: one account each, and the model's context.
/// Without a clock: its owner says what time it is.
///
/// Owner: who lets an agent work, the builtin agent's loop or the actor that runs a CLI agent's program.
#pragma once

#include "actors/harness/work_account.hpp"

namespace chalk::actors {

class limit_watch {
  public:
    using time_point = work_account::time_point;

    explicit limit_watch(config::limits limits) : limits_(limits) {}

    void begin_step(std::size_t step, time_point now);
    /// What comes until the next step (a judge's work) is nobody's.
    void end_step(time_point now) { run_.pause(now); }

    void add_turn() noexcept;
    /// Of a turn that was aborted too.
    void add_model_wait(milliseconds duration, const token_usage& usage) noexcept;
    /// Of the last model call, or of the largest since the last look.
    void set_context(std::uint64_t tokens) noexcept { context_tokens_ = tokens; }
    /// All of the run, as the gateway counts it.
    void set_usd(double run) noexcept;
    void set_use(const model_use& run) noexcept;

    /// The first limit that is reached, the step's before the run's.
    [[nodiscard]] std::optional<limit_reached> reached(time_point now) const;
    /// Until the nearer limit on wall time; at least a millisecond.
    [[nodiscard]] std::optional<milliseconds> time_left(time_point now) const;
    /// Does a limit need what the gateway alone knows?
    [[nodiscard]] bool limits_usd() const noexcept { return limits_.max_usd || limits_.run.max_usd; }
    /// Is there a limit on what a model is used for, or on working time?
    [[nodiscard]] bool limits_use() const noexcept;

    [[nodiscard]] std::uint64_t turns() const noexcept { return step_.use().turns; }
    [[nodiscard]] const model_use& run_use() const noexcept { return run_.use(); }
    [[nodiscard]] std::uint64_t context_tokens() const noexcept { return context_tokens_; }

  private:
    config::limits limits_;
    std::size_t index_ = 0;
    work_account step_;
    work_account run_;
    model_use before_step_; ///< the run's, when the step began
    std::uint64_t context_tokens_ = 0;
};

} // namespace chalk::actors
