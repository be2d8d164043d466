/// What a terminal shows of runs under way, from one to a hundred thousand: a bar with rate and time left, a line a
/// cell, the slowest runs, the last failures. Pure: facts in, lines out; its size does not grow with the runs.
///
/// Owner: the console, which draws it ten times a second at most.
#pragma once

#include "actors/run/run_order.hpp"

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace chalk::cli {

class board {
  public:
    using clock = std::chrono::steady_clock;

    explicit board(std::uint64_t total, clock::time_point start) : start_(start) { counts_.total = total; }

    void began(const actors::run_order& order, clock::time_point now);
    /// `retried`: another attempt follows.
    void ended(const actors::run_result& what, const actors::sweep_counts& counts, bool retried, clock::time_point now);

    [[nodiscard]] const actors::sweep_counts& counts() const noexcept { return counts_; }
    [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }

    /// "12 of 50 done, 5 running, 10 passed, ..., 3.1/s, 0:12 left"
    [[nodiscard]] std::string status_line(clock::time_point now) const;
    /// The last line: as status_line, with these figures and nothing left.
    [[nodiscard]] std::string summary(const actors::sweep_counts& counts, clock::time_point now) const;
    /// At most `height` lines of at most `width` columns; the first is the bar.
    [[nodiscard]] std::vector<std::string> lines(std::size_t width, std::size_t height, clock::time_point now) const;

  private:
    struct cell {
        std::string label;
        std::uint64_t running = 0;
        std::uint64_t passed = 0;
        std::uint64_t failed = 0;
        std::uint64_t errors = 0;
        double score_sum = 0;
        std::uint64_t scored = 0;
    };
    struct live {
        clock::time_point since;
        std::uint64_t cell = 0;
    };

    [[nodiscard]] cell* cell_of(const actors::run_order& order);
    [[nodiscard]] std::string figures(const actors::sweep_counts& counts, std::size_t running,
                                      clock::time_point now) const;
    [[nodiscard]] double rate(clock::time_point now) const;
    void add_cells(std::vector<std::string>& out, std::size_t most) const;
    void add_slowest(std::vector<std::string>& out, clock::time_point now) const;

    clock::time_point start_;
    actors::sweep_counts counts_;
    std::optional<std::uint64_t> ended_before_; ///< by an earlier chalk
    std::map<std::string, live> running_;
    std::map<std::uint64_t, cell> cells_; ///< the first ones, up to a limit
    bool more_cells_ = false;
    std::deque<std::string> failures_;
    std::deque<std::pair<clock::time_point, std::uint64_t>> recent_; ///< how many had ended when, for the rate
};

/// "1:05", "2:03:04".
[[nodiscard]] std::string clock_text(std::chrono::seconds time);

} // namespace chalk::cli
