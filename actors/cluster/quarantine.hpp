/// Whether one node is trusted with new runs: after so many infrastructure errors within a window it gets none until a
/// probe passes there. Each probe that fails, and each quarantine that follows soon after another, doubles the wait for
/// the next, up to a bound. Pure; time is handed in.
///
/// Owner: the cluster actor, one for each node; a node that joins anew, also after a loss, keeps the one that its name
/// has.
#pragma once

#include "actors/supervision/restart_policy.hpp"
#include "protocol/core/outcome.hpp"
#include "protocol/core/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace chalk::actors {

struct quarantine_rules {
    std::size_t max_errors = 5; ///< this many within `window` are too many; at least 1
    milliseconds window{300'000};
    milliseconds backoff{30'000};
    milliseconds max_backoff{1'800'000};
};

/// Whether an error of this class may be the node's fault: images, sandboxes and harnesses are its own. What a task, a
/// model, a config, a budget or a deadline says is not.
[[nodiscard]] bool speaks_of_node(error_class kind) noexcept;

class quarantine {
  public:
    using clock = std::chrono::steady_clock;

    explicit quarantine(const quarantine_rules& rules) : rules_(rules), errors_(allowed(rules), rules.window) {}

    /// An attempt ended there in an error that speaks of the node. True when that begins a quarantine. Those of runs
    /// that go on during one do not count.
    [[nodiscard]] bool error(clock::time_point now);

    /// No new runs.
    [[nodiscard]] bool active() const noexcept { return active_; }
    /// When the next probe is due; nullopt: none, the node is well or one is under way.
    [[nodiscard]] std::optional<clock::time_point> probe_due() const noexcept { return due_; }
    /// True when a probe is due, and then it is under way: one at a time.
    [[nodiscard]] bool begin_probe(clock::time_point now);
    /// The probe under way passed, and with it the quarantine; or it failed, and the next one waits longer. A probe
    /// that was lost with its node has failed.
    void probe_ended(bool passed, clock::time_point now);

  private:
    [[nodiscard]] static std::size_t allowed(const quarantine_rules& rules) noexcept {
        return rules.max_errors > 0 ? rules.max_errors - 1 : 0;
    }
    void wait_for_probe(clock::time_point now);

    quarantine_rules rules_;
    restart_policy errors_;
    bool active_ = false;
    bool probing_ = false;
    std::uint32_t waits_ = 0; ///< in a row
    std::optional<clock::time_point> due_;
    std::optional<clock::time_point> well_since_;
};

} // namespace chalk::actors
