/// The root of the tree.
#pragma once

#include "actors/node/interfaces.hpp"
#include "actors/supervision/restart_policy.hpp"

#include <functional>

namespace chalk::actors {

struct cancel_sweep {
    std::string reason;
};

struct kill_sweep {
    std::string reason;
};

/// Owner: the command that started it, which holds its handle. Owns the plan, the progress and the node. When every run
/// has its outcome it tells the watcher and quits. Nothing restarts it: when it dies, the command ends and every run
/// with it.
using sweep_actor = caf::typed_actor<
    /// From the node: a run has its one outcome.
    caf::reacts_to<run_finished>,
    /// No more runs are started, those under way end in order.
    caf::reacts_to<cancel_sweep>,
    /// As cancel_sweep, at once.
    caf::reacts_to<kill_sweep>>;

struct sweep_settings {
    std::size_t cells = 1;
    std::size_t runs_per_cell = 1;
    /// Makes the order of one run; called when it is handed out, so that a plan of a million runs costs nothing.
    std::function<order_ptr(run_key, attempt_number)> make_order;
    node_settings node;
    /// Runs that may be out at the node, waiting ones among them.
    std::size_t window = 4096;
    restart_policy node_restarts{3, std::chrono::seconds(60)};
};

[[nodiscard]] sweep_actor spawn_sweep(caf::actor_system& system, sweep_settings settings);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cancel_sweep)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::kill_sweep)
