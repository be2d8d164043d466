/// Which runs are out on which node, and what the loss of that node means for each: it is run again and no attempt is
/// charged, but a run whose node was lost three times ends as node_lost, so that a run that kills its node does not
/// kill them all. The number is the schedule's, which counts likewise; this adds where the run was. Pure.
///
/// Also which nodes a run's next attempt should avoid: those that it failed on or was lost with.
///
/// Owner: the cluster actor. After a restart the losses are told by the journal; which nodes to avoid is forgotten.
#pragma once

#include "actors/cluster/node_id.hpp"
#include "actors/sweep/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace chalk::actors {

/// What became of one run of a lost node.
struct lost_run {
    run_key run;
    std::uint32_t losses = 0;   ///< this one among them
    std::optional<outcome> how; ///< node_lost, the run's last; absent: it is to be run again, without charge
};

class lost_runs {
  public:
    /// From the journal: the run's node was lost so often before.
    void lost_before(run_key run, std::uint32_t times);

    /// The run's attempt was given to `node`. A run is out on one node at a time: false when it is out already.
    bool sent(run_key run, const node_id& node);
    /// The attempt is over and another may follow; `failed`: in an error that its node may be the cause of, so that the
    /// next attempt avoids it.
    void returned(run_key run, bool failed);
    /// The run has its outcome: nothing of it is kept.
    void closed(run_key run);
    /// The node's lease has surely ended. What it had, in the order of the runs.
    [[nodiscard]] std::vector<lost_run> node_lost(const node_id& node);

    [[nodiscard]] std::optional<node_id> where(run_key run) const;
    [[nodiscard]] const std::set<run_key>& out_on(const node_id& node) const;
    [[nodiscard]] const std::set<node_id>& avoided(run_key run) const;
    [[nodiscard]] std::size_t kept_runs() const noexcept { return runs_.size(); }

  private:
    struct history {
        std::optional<node_id> out_on;
        std::uint32_t losses = 0;
        std::vector<node_id> lost_with; ///< in order; after a restart only those since
        std::set<node_id> avoid;
    };
    void take_home(run_key run, history& h);

    std::map<run_key, history> runs_;
    std::map<node_id, std::set<run_key>> by_node_;
};

} // namespace chalk::actors
