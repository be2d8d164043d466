/// The environments of a sweep as trees, which nodes fetch by their sums (docs/protocols/cluster-bulk.md).
#pragma once

#include "cli/sweep/sweep_site.hpp"
#include "protocol/store/digest.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace chalk::cli {

/// For the coordinator's shelf.
struct environment_tree {
    std::filesystem::path name;   ///< as the run configs have it
    std::filesystem::path folder; ///< of this machine: the chunks are read from it
    store::tree_digest digest;
    std::string manifest; ///< its text; store::max_manifest_text at most
};

/// What of them goes into a sandbox, and no more: the same files that their digests are over. One each, but none for
/// builtin:noop, in the order of the site. Blocking: reads all contents. error_class::config: an environment that
/// cannot be a tree (a link that leads out of it, say), or was changed since the site looked at it.
[[nodiscard]] result<std::vector<environment_tree>> read_environment_trees(const sweep_site& site);

} // namespace chalk::cli
