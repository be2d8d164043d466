/// Messages between the sweep and its cluster. They stay inside one process: none is ever serialised.
#pragma once

#include "actors/cluster/node_id.hpp"
#include "actors/cluster/result_fence.hpp"
#include "actors/node/messages.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/journal/records.hpp"

#include <caf/all.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace chalk::actors {

/// Sweep to cluster: a node for it, please. Answer: run_placed, or run_finished that says it was withdrawn.
struct place_run {
    order_ptr order;
};

/// Cluster to sweep. The start is to be journalled under that node and token; then start_run.
struct run_placed {
    order_ptr order;
    node_id node;
    fencing_token token;
};

/// Cluster to sweep: lost with their node, whose lease has surely ended. No attempt is charged.
struct runs_lost {
    std::vector<order_ptr> orders;
    std::string why;
};

/// Sweep to cluster: the outcome of the attempt is durable.
struct outcome_recorded {
    order_ptr order;
    bool closed = false; ///< the run has its outcome: no other attempt follows
};

/// Cluster to sweep: to be journalled, before all that the cluster says after it. Answer: entries_recorded.
struct record_entries {
    std::vector<journal::record> records;
    std::uint64_t tag = 0;
};
struct entries_recorded {
    std::uint64_t tag = 0;
};

/// Cluster to sweep: what does the journal have under this name? Answer: assignment_found.
struct find_assignment {
    assignment_name name;
};
struct assignment_found {
    assignment_name name;
    journalled_name has = journalled_name::absent;
};

/// Sweep to cluster: nothing more is run. Nodes give up their leases; then, or after a while, cluster_closed.
struct close_cluster {};
struct cluster_closed {};

/// Sweep to cluster: nothing new starts on the node. `answer` is called once, on an actor's thread.
struct drain_node {
    std::string node;
    std::function<void(result<std::string>)> answer;
};

/// Sweep to cluster: how it stands, as JSON. `answer` is called once, on an actor's thread.
struct look_at_cluster {
    std::function<void(result<std::string>)> answer;
};

/// From the io thread: a connection with an authenticated peer.
struct peer_came {
    std::string peer; ///< the name in its certificate
    std::shared_ptr<unique_fd> socket;
    bool dialled = false; ///< by us
    /// Called once, from any thread, when the link that is made of it has ended or never stood. May be empty.
    std::function<void()> ended;
};

/// The cluster's own timer.
struct tick_cluster {};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::place_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::run_placed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::runs_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::outcome_recorded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::record_entries)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::entries_recorded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::find_assignment)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::assignment_found)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::close_cluster)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cluster_closed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::drain_node)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::look_at_cluster)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::peer_came)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tick_cluster)
