/// A node of a cluster behind a door without CAF, for `chalk node`: the agent, its node actor and its runs.
///
/// Owner: the command. Its destructor waits for nothing but the end of the actors, and kills what runs: to end in
/// order the command calls quit() first and waits until its supply heard left().
#pragma once

#include "actors/cluster/node_id.hpp"
#include "actors/cluster/node_member.hpp"
#include "actors/cluster/node_supply.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/gateway/gateway.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chalk::actors {

struct cluster_node_settings {
    node_id name;
    std::shared_ptr<node_supply> supply;
    /// This node's own, locked by the command: spool/ and lease.json are in it. Whatever an earlier process left alive
    /// has been removed before: its lease is given up.
    std::filesystem::path folder;
    resources capacity;
    std::optional<std::size_t> max_runs;
    std::shared_ptr<runtime> sandboxes; ///< null when every run is --no-containerized
    /// For harnesses of this process, as in tree_settings.
    std::filesystem::path python;
    std::filesystem::path file_tool;
    std::optional<gateway::gateway_settings> models; ///< absent: no run asks a model
    std::shared_ptr<watcher> watch;                  ///< null: nobody hears of single runs here
    std::filesystem::path disk;                      ///< whose room is watched; empty: none is
    node_member_rules rules;
    std::size_t scheduler_threads = 2;
    std::size_t pool_threads = 8;
};

class cluster_node {
  public:
    /// Starts at once; the supply is asked for a link. Blocks for as long as it takes to look through the spool. `io`
    /// outlives the node. error_class::harness: the folder cannot be used, or a library is missing.
    [[nodiscard]] static result<std::unique_ptr<cluster_node>> start(boost::asio::io_context& io,
                                                                     cluster_node_settings settings);
    cluster_node() = default;
    cluster_node(const cluster_node&) = delete;
    cluster_node& operator=(const cluster_node&) = delete;
    virtual ~cluster_node() = default;

    // Any thread, all of them.

    /// A control connection on which a coordinator has dialled this node. `peer` is the name in its certificate.
    virtual void adopt(std::string peer, unique_fd socket) = 0;
    /// One that this node has dialled.
    virtual void connect(std::string peer, unique_fd socket) = 0;
    /// The node holds an environment or image now, or no more.
    virtual void digest_changed(std::string digest, bool holds) = 0;
    /// Everything ends in order, within node_member_rules::quit_within; then the supply hears left().
    virtual void quit() = 0;
};

} // namespace chalk::actors
