/// What people have asked of a sweep that runs (`chalk sweep ctl`), and what they are told. Pure: what a granted
/// request means for the node is the sweep actor's to do.
///
/// Owner: the sweep actor. Nothing of it outlives the process: a resumed sweep is neither paused nor drained.
#pragma once

#include "actors/sweep/schedule.hpp"
#include "actors/sweep/spending_book.hpp"
#include "protocol/core/result.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace chalk::actors {

/// How a sweep stands, beyond what people asked of it.
struct sweep_view {
    bool ending = false;
    bool stopping = false; ///< its schedule hands out nothing more
    bool journal_blocked = false;
    bool node_short = false;  ///< of disk, descriptors or the like: it lets nobody in
    bool budget_held = false; ///< the next run waits for what others were promised
    std::size_t under_way = 0;
    sweep_counts counts;
    amount spent;
};

class control_desk {
  public:
    /// `node` is the sweep's one node. Never more than `most_out` runs are out; `at_once` of them run, or as many as
    /// there is room for.
    control_desk(std::string node, std::size_t most_out, std::optional<std::size_t> at_once);

    [[nodiscard]] std::string pause();
    [[nodiscard]] std::string resume();
    /// Runs at once; nullopt: as many as there is room for. error_class::config: none.
    [[nodiscard]] result<std::string> limit(std::optional<std::size_t> at_once);
    /// error_class::config: there is no such node.
    [[nodiscard]] result<std::string> drain(const std::string& node);
    /// A JSON object for `chalk sweep ctl`.
    [[nodiscard]] std::string look(const sweep_view& view) const;

    /// False: nothing new is to start.
    [[nodiscard]] bool lets_start() const noexcept { return !paused_ && !drained_; }
    /// Runs that may be out at the node, those that wait there among them.
    [[nodiscard]] std::size_t window() const noexcept { return window_; }

  private:
    [[nodiscard]] std::size_t window_for(std::optional<std::size_t> at_once) const;

    std::string node_;
    std::size_t most_out_;
    std::size_t window_;
    bool paused_ = false;
    bool drained_ = false;
};

} // namespace chalk::actors
