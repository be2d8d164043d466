/// What all sandboxes of one process stand on: the helper that makes them, the ids that are theirs, and what they share
/// of the cache.
///
/// Owner: the runtime, which lays it with the first sandbox. Destroying it ends every sandbox.
#pragma once

#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"
#include "runtimes/namespaces/cgroups.hpp"
#include "runtimes/namespaces/ids.hpp"
#include "runtimes/namespaces/lease_page.hpp"
#include "runtimes/namespaces/machine.hpp"
#include "runtimes/namespaces/namespaces_options.hpp"
#include "runtimes/namespaces/nest_client.hpp"
#include "runtimes/namespaces/out_folder.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chalk::namespaces {

/// Of the cache, kept as long as anything stands on it.
using shared_entry = std::shared_ptr<const image::cache_entry>;
[[nodiscard]] shared_entry share(image::cache_entry entry);

struct foundation {
    id_range ids;
    bool privileged = true; ///< root of the host makes the sandboxes
    bool idmapped = true;   ///< mounts of the cache can show the owners that a sandbox expects
    image::tree_owners owners;
    std::optional<id_helper> helper; ///< without root
    shared_entry skeleton;
    shared_entry bundle;
    std::unique_ptr<nest_client> nest;
};

/// What a foundation is laid on. Outlives the call.
struct foundation_site {
    const namespaces_options& options;
    const std::string& owner;
    const cgroups& groups;
    const image::cache& cache;
    const lease_page& lease;
    const std::filesystem::path& state; ///< holds a folder per owner
};

/// Blocking: starts the helper and stages what is not in the cache. The failure's class says what was lacking.
[[nodiscard]] result<foundation> lay_foundation(const foundation_site& site);

/// Makes a helper and an empty sandbox, and lets both go. nullopt: that works.
[[nodiscard]] std::optional<missing_piece> try_foundation(const foundation_site& site);

/// How a folder of the host changes hands. Empty: by chown, as root.
[[nodiscard]] out_folder::owner_change owner_change_of(const foundation& base);

} // namespace chalk::namespaces
