/// The folders for artifacts of sandboxed runs. Most runs have none, and making and removing a folder for each costs a
/// short run a twentieth of its time (ADR 12): an empty one stays where it is when its run ends, and is renamed for the
/// next run that needs one. What is left at the end is removed; chalk killed leaves empty folders of runs behind.
///
/// Any thread; all of it blocks.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include <sys/types.h>

namespace chalk::actors {

class artifact_folders {
  public:
    artifact_folders() = default;
    artifact_folders(const artifact_folders&) = delete;
    artifact_folders& operator=(const artifact_folders&) = delete;
    ~artifact_folders();

    /// Afterwards `folder` is a folder: its own of before, an emptied one, or new with the folders above it.
    [[nodiscard]] std::error_code make(const std::filesystem::path& folder);

    /// True: nothing was in it; it is gone, or kept for another run. Without `nobody_writes` it goes: whoever still has
    /// it open would be in the next run's.
    [[nodiscard]] bool take_back_empty(const std::filesystem::path& folder, bool nobody_writes);

  private:
    /// What a new folder is like: one that is no longer so is not handed on.
    struct likeness {
        mode_t mode = 0;
        off_t size = 0;
        blkcnt_t blocks = 0;
        int flags = 0; ///< of the inode, where the file system has any

        friend bool operator==(const likeness&, const likeness&) = default;
    };
    /// Nullopt: not a folder of ours, or something is set on it that its files would inherit.
    static std::optional<likeness> look_at(const std::filesystem::path& folder);

    std::mutex mutex_; ///< held while one is renamed: no two runs may take the same
    std::vector<std::filesystem::path> kept_;
    std::optional<likeness> new_one_;
};

/// Whether a run that ended left any. A folder that cannot be looked into has none that could be named.
[[nodiscard]] bool has_artifacts(const std::filesystem::path& folder);

} // namespace chalk::actors
