/// The root of the tree.
#pragma once

#include "actors/cluster/cluster_actor.hpp"
#include "actors/node/interfaces.hpp"
#include "actors/supervision/restart_policy.hpp"
#include "actors/sweep/journal_actor.hpp"
#include "actors/sweep/schedule.hpp"
#include "actors/sweep/spending_book.hpp"
#include "actors/sweep/sweep_control.hpp"

#include <functional>

namespace chalk::actors {

struct cancel_sweep {
    std::string reason;
};

struct kill_sweep {
    std::string reason;
};

/// What a person asks of a sweep that runs. `answer` is called once, on an actor's thread, with what came of it.
struct control_sweep {
    sweep_control what;
    std::function<void(result<std::string>)> answer;
};

/// The sweep's own timer: a retry is due, or a batch is to be written again.
struct wake_sweep {};

/// The sweep's own timer: its time is over.
struct sweep_deadline {};

/// Owner: the command that started it, which holds its handle. Owns the schedule, the budgets, the journal and the
/// node, or the cluster. When every run has its outcome it tells the watcher and quits. Nothing restarts it: when it
/// dies, the command ends and every run with it; `chalk sweep resume` goes on from the journal.
using sweep_actor = caf::typed_actor<
    /// From the node: an attempt is over.
    caf::reacts_to<run_finished>,
    /// From the node: what an attempt has spent so far.
    caf::reacts_to<run_spent>,
    /// From the node: what a user should know.
    caf::reacts_to<node_said>,
    /// From the cluster: where an attempt goes, what was lost, what is to be journalled and found there; its end.
    caf::reacts_to<run_placed>, caf::reacts_to<runs_lost>, caf::reacts_to<record_entries>,
    caf::reacts_to<find_assignment>, caf::reacts_to<cluster_closed>,
    /// From the journal: a batch is durable, or not.
    caf::reacts_to<records_written>, caf::reacts_to<runs_looked_up>, caf::reacts_to<assignment_found>,
    /// From the command. Those about a cluster are passed on to it.
    caf::reacts_to<control_sweep>, caf::reacts_to<peer_came>,
    /// The sweep's own timers.
    caf::reacts_to<wake_sweep>, caf::reacts_to<sweep_deadline>,
    /// No more runs are started, those under way end in order.
    caf::reacts_to<cancel_sweep>,
    /// As cancel_sweep, at once.
    caf::reacts_to<kill_sweep>>;

struct sweep_settings {
    std::optional<schedule> plan;
    /// Makes the order of one attempt; called when it is handed out, so that a plan of a million runs costs nothing.
    std::function<order_ptr(run_key, attempt_number)> make_order;
    node_settings node;
    std::optional<cluster_settings> cluster; ///< absent: the runs are this machine's node's. Needs a journal
    /// Runs that may be out at the node, those that wait there among them.
    std::size_t window = 4096;
    restart_policy node_restarts{3, std::chrono::seconds(60)};
    spending_limits budget;
    amount spent_before;
    std::optional<sweep_journal> journal; ///< absent: outcomes are not kept (`chalk run`)
    std::optional<milliseconds> deadline; ///< of the whole sweep
};

[[nodiscard]] sweep_actor spawn_sweep(caf::actor_system& system, sweep_settings settings);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cancel_sweep)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::kill_sweep)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::control_sweep)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::wake_sweep)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::sweep_deadline)
