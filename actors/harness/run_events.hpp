/// What a harness has recorded of its run: the events so far, each with its number, and those of them that the sink is
/// yet to be told. While the sink is not writable, log lines are counted instead. Pure: time is handed in.
///
/// Owner: the harness actor.
#pragma once

#include "config/run_config.hpp"
#include "protocol/event/event.hpp"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace chalk::actors {

class run_events {
  public:
    using time_point = std::chrono::system_clock::time_point;

    /// After the final event nothing is recorded: it is the last.
    void record(event_body body, time_point now);
    void log(const log_line& line, time_point now);
    /// The sink's word on its queue. Once it takes lines again, one says how many were left out.
    void set_writable(bool writable, time_point now);

    [[nodiscard]] const std::vector<event_ptr>& all() const noexcept { return all_; }
    /// Recorded since the last call, in order.
    [[nodiscard]] std::vector<event_ptr> take_unsent() { return std::exchange(unsent_, {}); }

  private:
    std::vector<event_ptr> all_;
    std::vector<event_ptr> unsent_;
    std::uint64_t last_seq_ = 0;
    std::uint64_t dropped_lines_ = 0;
    bool writable_ = true;
    bool final_recorded_ = false;
};

/// The transcript so far of a run with this config, as a judge is given it.
[[nodiscard]] json transcript_so_far(const config::run_config& config, const std::vector<event_ptr>& events);

} // namespace chalk::actors
