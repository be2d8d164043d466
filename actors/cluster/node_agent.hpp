/// A node's side of a cluster: carries out what node_member decides. It talks to the coordinator, runs attempts on this
/// machine's node actor, and keeps their results until they were taken.
///
/// Owner: chalk node (cluster_node.hpp), which ends when the agent does. When the agent dies, its runs end with the
/// node actor that it owns; results are on disk, and the next process finds them.
#pragma once

#include "actors/cluster/link_events.hpp"
#include "actors/cluster/messages.hpp"
#include "actors/cluster/node_member.hpp"
#include "actors/cluster/node_supply.hpp"
#include "actors/cluster/result_spool.hpp"
#include "actors/node/interfaces.hpp"
#include "actors/supervision/restart_policy.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk::actors {

/// From `done` of the supply, and from the pool.
struct order_made {
    assignment_name name;
    result<order_ptr> order;
};
struct results_kept {
    std::vector<assignment_name> names;
    std::vector<result<void>> how;
};
/// Of those that were forgotten, one batch.
struct results_removed {
    std::optional<failure> trouble; ///< the first of them
};
struct files_landed {
    assignment_name name;
    result<std::string> sheet; ///< what is to be told of it
};
/// The node holds an environment or image now, or no more.
struct tell_digest {
    std::string digest;
    bool holds = false;
};
/// From the pool.
struct probe_ended {
    std::optional<std::string> trouble;
};
/// From the command: stop everything in order, and end.
struct quit_cluster {};
/// The agent's own timers: something is due; results that could not be kept are to be tried again.
struct agent_due {
    std::int64_t number = 0;
};
struct keep_again {};

using node_agent = node_port::extend<
    /// From the links.
    caf::reacts_to<peer_linked>, caf::reacts_to<link_failed>, caf::reacts_to<link_lost>,
    /// From its node actor.
    caf::reacts_to<run_finished>, caf::reacts_to<run_spent>, caf::reacts_to<node_said>,
    /// From the supply and the pool.
    caf::reacts_to<order_made>, caf::reacts_to<results_kept>, caf::reacts_to<results_removed>,
    caf::reacts_to<files_landed>, caf::reacts_to<probe_ended>,
    /// From the command.
    caf::reacts_to<tell_digest>, caf::reacts_to<quit_cluster>,
    /// Its own timers.
    caf::reacts_to<agent_due>, caf::reacts_to<keep_again>>;

struct node_agent_settings {
    node_id name;
    node_settings node; ///< of the node actor
    std::shared_ptr<node_supply> supply;
    std::shared_ptr<blocking_pool> pool;
    std::shared_ptr<result_spool> spool; ///< opened
    std::vector<assignment_name> kept;   ///< what it had
    std::optional<lease_number> found;   ///< of the node's last process
    std::filesystem::path lease_file;    ///< where the present one is noted (lease_file.hpp)
    node_member_rules rules;
    restart_policy node_restarts{3, std::chrono::seconds(60)};
    std::function<node_time()> now;                         ///< CLOCK_BOOTTIME
    std::function<void(link_number, std::string)> cut_link; ///< any thread
};

[[nodiscard]] node_agent spawn_node_agent(caf::actor_system& system, node_agent_settings settings);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::order_made)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::results_kept)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::results_removed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::files_landed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tell_digest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::probe_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::quit_cluster)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::agent_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::keep_again)
