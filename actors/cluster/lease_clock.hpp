/// How long a node may still run. The lease is counted from when the node asked for it, not from when the answer came:
/// the coordinator counts from when it heard the question, which is later, so a slow answer never lets the node go on
/// longer than the coordinator waits. Pure; time is handed in, and is the node's CLOCK_BOOTTIME.
///
/// Once the time to stop has come, that lease is over for good, whatever answers come late: some of its runs may be
/// dead already. The node stops the rest and joins anew, with a new clock: one serves one lease.
///
/// Owner: the node's cluster link. The first process of each sandbox is told until() and keeps it by its own clock.
#pragma once

#include "actors/cluster/boot_time.hpp"
#include "protocol/core/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace chalk::actors {

enum class lease_standing {
    none,    ///< no lease yet: nothing may run
    running, ///< runs may go on
    stopping ///< runs are to be stopped, and nothing may start
};

class lease_clock {
  public:
    /// Names a question, so that its answer is counted from its own moment. Sent along and brought back.
    enum class question : std::int64_t {};

    /// `stop_margin`: how long before the end the node begins to stop its runs. At most half of the lease counts.
    explicit lease_clock(milliseconds stop_margin) : stop_margin_(stop_margin) {}

    /// A question for a lease, or for more of it, goes out now.
    [[nodiscard]] question ask(node_time now);
    /// The answer to `what`: a lease of `length`. False when it changes nothing: the question is not known (any more),
    /// it ends no later than what the node has, or it came too late.
    bool answered(question what, milliseconds length, node_time now);

    /// Remembered: time that goes back, or an answer after the stop, changes nothing.
    [[nodiscard]] lease_standing standing(node_time now);
    /// When standing() will say `stopping` unless an answer comes first. nullopt without a lease.
    [[nodiscard]] std::optional<node_time> stop_at() const noexcept { return stop_at_; }
    /// By when nothing of this lease may be alive. nullopt without a lease.
    [[nodiscard]] std::optional<node_time> until() const noexcept { return until_; }

  private:
    /// More unanswered questions than that, and the oldest is forgotten: which can only make a lease shorter.
    static constexpr std::size_t most_open = 16;

    milliseconds stop_margin_;
    std::int64_t last_question_ = 0;
    std::map<question, node_time> open_;
    std::optional<node_time> stop_at_;
    std::optional<node_time> until_;
    bool stopped_ = false;
};

} // namespace chalk::actors
