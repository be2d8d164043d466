/// What a sweep still has to run, what is out, and how it goes: cells times runs, handed out lazily. Pure. Keeps
/// nothing of a run that has ended but its counts.
///
/// Owner: the sweep actor.
#pragma once

#include "protocol/core/outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace chalk::actors {

/// One run of the sweep: number `index` of cell `cell`; both count from 0.
struct run_key {
    std::size_t cell = 0;
    std::size_t index = 0;
    friend auto operator<=>(const run_key&, const run_key&) = default;
};

struct sweep_counts {
    std::size_t total = 0;
    std::size_t out = 0; ///< handed to a node, not ended
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t errors = 0;
    std::size_t cancelled = 0;
    double score_sum = 0; ///< over `scored` runs
    std::size_t scored = 0;

    [[nodiscard]] std::size_t ended() const noexcept { return passed + failed + errors + cancelled; }
    [[nodiscard]] std::optional<double> mean_score() const noexcept {
        return scored == 0 ? std::nullopt : std::optional<double>(score_sum / static_cast<double>(scored));
    }
};

class sweep_plan {
  public:
    /// A run whose node was lost this often is not tried again.
    static constexpr std::uint32_t max_node_losses = 3;

    sweep_plan(std::size_t cells, std::size_t runs_per_cell);

    /// The next run to hand to a node; nullopt when all were handed out or the sweep was stopped.
    [[nodiscard]] std::optional<run_key> next();

    /// True when `run` was out: its one outcome counts. False for a second report, which changes nothing.
    [[nodiscard]] bool finished(run_key run, outcome_status status, std::optional<double> score);

    enum class after_loss { again, give_up, not_out };
    /// The node that had `run` was lost. `again`: next() gives it out again, and no attempt is charged. `give_up`: it
    /// counts as an error, node_lost.
    [[nodiscard]] after_loss lost(run_key run);

    /// Nothing more is handed out; what was not yet counts as cancelled. Returns how many those were.
    std::size_t stop();

    [[nodiscard]] bool complete() const noexcept { return counts_.ended() == counts_.total; }
    [[nodiscard]] const sweep_counts& counts() const noexcept { return counts_; }

  private:
    [[nodiscard]] std::uint64_t number(run_key run) const noexcept { return run.cell * runs_ + run.index; }

    std::size_t runs_;
    std::size_t next_ = 0;
    bool stopped_ = false;
    std::deque<run_key> again_;
    std::unordered_map<std::uint64_t, std::uint32_t> out_;    ///< number to losses so far
    std::unordered_map<std::uint64_t, std::uint32_t> losses_; ///< of those in again_
    sweep_counts counts_;
};

} // namespace chalk::actors
