/// How long an attempt was at each of its stages. Pure; time is handed in.
///
/// Owner: the run actor.
#pragma once

#include "protocol/journal/records.hpp"

#include <chrono>

namespace chalk::actors {

enum class run_stage { prepare, setup, agent, score, teardown };

class stage_clock {
  public:
    using clock = std::chrono::steady_clock;

    /// `next` begins, and with it what came before ends. A stage that is entered again adds up.
    void enter(run_stage next, clock::time_point now);
    /// The attempt is over.
    [[nodiscard]] journal::stage_durations finish(clock::time_point now);

  private:
    void leave(clock::time_point now);

    journal::stage_durations took_;
    std::optional<run_stage> at_;
    clock::time_point began_{};
    clock::time_point entered_{};
};

} // namespace chalk::actors
