/// What a sweep needs to be carried out by a cluster instead of this machine.
#pragma once

#include "actors/tree.hpp"
#include "cli/cluster/coordinator_site.hpp"
#include "cli/cluster/environment_trees.hpp"
#include "cli/sweep/sweep_folder.hpp"
#include "cli/sweep/sweep_site.hpp"

#include <memory>
#include <string>
#include <vector>

namespace chalk::cli {

/// Owner: the command, from before the tree to after it.
struct sweep_cluster {
    std::unique_ptr<coordinator_site> site;
    std::vector<environment_tree> trees;
};

/// Blocking: reads certificates and environments, and listens. Nothing is written, and no node is let in yet. `site`
/// was prepared. Refused with what a cluster does not take.
[[nodiscard]] step_result<sweep_cluster> prepare_cluster(boost::asio::io_context& io, const sweep_site& site,
                                                         const config::cluster_file& cluster,
                                                         coordinator_site::speaker say);

/// Makes the tree one of `cluster`. `site` outlives the tree. error_class::config: more than nodes can be told.
[[nodiscard]] result<void> use_cluster(actors::tree_settings& settings, sweep_cluster& cluster, const sweep_site& site,
                                       const opened_sweep& opened);

} // namespace chalk::cli
