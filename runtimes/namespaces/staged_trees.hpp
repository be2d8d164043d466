/// The environments and root file systems that this process has staged, each once, and kept as long as it may start
/// more sandboxes with them.
///
/// Owner: the runtime. Thread-safe; who asks for what is being staged waits for it.
#pragma once

#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"
#include "runtimes/namespaces/foundation.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace chalk::namespaces {

class staged_trees {
  public:
    /// `cache` outlives it.
    explicit staged_trees(const image::cache& cache) : cache_(cache) {}

    /// See image::stage.
    [[nodiscard]] result<shared_entry> environment(const environment_source& source, const image::tree_owners& owners);
    /// A root file system that a request brings. See image::get_rootfs.
    [[nodiscard]] result<shared_entry> rootfs(const std::filesystem::path& source, const image::tree_owners& owners);

  private:
    const image::cache& cache_;
    std::mutex staging_;
    std::map<std::string, shared_entry> environments_; ///< by digest
    std::map<std::filesystem::path, shared_entry> rootfs_;
};

} // namespace chalk::namespaces
