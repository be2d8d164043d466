/// How often a supervisor starts a child again before it gives up itself: at most `max_restarts` within `window`.
/// Pure; time is handed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace chalk::actors {

class restart_policy {
  public:
    using clock = std::chrono::steady_clock;

    restart_policy(std::size_t max_restarts, clock::duration window) : max_restarts_(max_restarts), window_(window) {}

    /// The child died at `now`: true when it may be started again (and counts that restart).
    [[nodiscard]] bool allow(clock::time_point now);

  private:
    std::size_t max_restarts_;
    clock::duration window_;
    std::deque<clock::time_point> restarts_; ///< within the window; at most max_restarts_
};

} // namespace chalk::actors
