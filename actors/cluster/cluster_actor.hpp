/// The cluster as the sweep sees it: it takes the messages that a node takes, and has many nodes to carry them out.
#pragma once

#include "actors/cluster/cluster_messages.hpp"
#include "actors/cluster/cluster_plan.hpp"
#include "actors/cluster/link_events.hpp"
#include "actors/cluster/link_library.hpp"
#include "actors/cluster/messages.hpp"
#include "actors/node/interfaces.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chalk::actors {

/// Owner: the sweep, which monitors it. Carries out what a coordinator (coordinator.hpp) decides: over links to the
/// nodes, and through the sweep's journal. Nothing restarts it: when it dies the sweep gives up, the nodes go on to the
/// end of their leases, and `chalk sweep resume` takes up what they kept alive.
using cluster_actor = caf::typed_actor<
    /// From the sweep.
    caf::reacts_to<place_run>,
    /// Its start is durable: the node may hear of it.
    caf::reacts_to<start_run>,
    /// As of a node (actors/node/interfaces.hpp).
    caf::reacts_to<cancel_runs>, caf::reacts_to<kill_runs>, caf::reacts_to<cut_off_runs>, caf::reacts_to<withdraw_runs>,
    caf::reacts_to<set_max_runs>,
    /// From the sweep: what is durable, what the journal has, what people ask.
    caf::reacts_to<outcome_recorded>, caf::reacts_to<entries_recorded>, caf::reacts_to<assignment_found>,
    caf::reacts_to<close_cluster>, caf::reacts_to<drain_node>, caf::reacts_to<look_at_cluster>,
    /// From the io thread, and from the links.
    caf::reacts_to<peer_came>, caf::reacts_to<peer_linked>, caf::reacts_to<link_failed>, caf::reacts_to<link_lost>,
    /// From nodes.
    caf::reacts_to<hello>, caf::reacts_to<renew_lease>, caf::reacts_to<lease_given_up>, caf::reacts_to<runs_kept>,
    caf::reacts_to<run_ended>, caf::reacts_to<run_noted>, caf::reacts_to<node_told>, caf::reacts_to<digest_changed>,
    caf::reacts_to<node_probed>,
    /// Its own timer.
    caf::reacts_to<tick_cluster>>;

/// Who hears of a cluster: the sweep.
using cluster_listener =
    caf::typed_actor<caf::reacts_to<run_finished>, caf::reacts_to<run_spent>, caf::reacts_to<node_said>,
                     caf::reacts_to<run_placed>, caf::reacts_to<runs_lost>, caf::reacts_to<record_entries>,
                     caf::reacts_to<find_assignment>, caf::reacts_to<cluster_closed>>;

struct cluster_settings : cluster_plan {
    std::function<journal::run_number(run_key)> run_number; ///< the sweep's
    /// This machine's CLOCK_BOOTTIME; tests put their own here.
    std::function<coordinator_time()> now = read_boot_time;
    std::function<wall_time()> wall = [] { return std::chrono::system_clock::now(); };

    [[nodiscard]] static coordinator_time read_boot_time();
};

/// `adopted`: the orders of settings.open, in that order. error_class::harness: the journal contradicts itself.
[[nodiscard]] result<cluster_actor> spawn_cluster(caf::local_actor* owner, cluster_settings settings,
                                                  std::vector<order_ptr> adopted, cluster_listener sweep);

} // namespace chalk::actors
