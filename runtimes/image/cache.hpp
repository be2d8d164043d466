/// This machine's cache of what many sandboxes share: staged environments, root file systems, bundles. An entry is made
/// once, complete or not at all, and never changed; chalks that run at the same time share it. What is lost when it is
/// deleted is only the time to make it again. `chalk gc` removes what nobody has used for a while.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace chalk::image {

/// Keep it as long as a sandbox stands on it: its lock keeps gc away.
struct cache_entry {
    std::filesystem::path folder;
    unique_fd lock;
};

struct cache_use {
    std::string kind;
    std::string key;
    std::uint64_t bytes_used = 0;
    std::chrono::system_clock::time_point last_used;
    bool in_use = false;
};

class cache {
  public:
    /// $XDG_CACHE_HOME/chalk, else /var/cache/chalk for root, else ~/.cache/chalk.
    [[nodiscard]] static std::filesystem::path default_folder();

    /// `remove` deletes a folder with all that is in it, where that takes more than this process may do itself: without
    /// root, staged files belong to the sandboxes' ids.
    using remover = std::function<result<void>(const std::filesystem::path&)>;

    explicit cache(std::filesystem::path folder, remover remove = {});

    /// The entry `kind`/`key`, made by `make` in a folder that exists and is empty when there is none yet. Both names
    /// are plain path components.
    [[nodiscard]] result<cache_entry> get(const std::string& kind, const std::string& key,
                                          const std::function<result<void>(const std::filesystem::path&)>& make) const;

    /// Removes, or with `dry_run` lists, entries that nobody uses and that nobody has used for `age`, and half-made
    /// ones whose maker is gone.
    [[nodiscard]] result<std::vector<cache_use>> collect(std::chrono::hours age, bool dry_run) const;

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  private:
    [[nodiscard]] result<void> ensure(const std::filesystem::path& folder) const;
    std::filesystem::path folder_;
    remover remove_;
};

} // namespace chalk::image
