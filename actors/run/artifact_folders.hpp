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

    /// True: nothing was in it, and nobody writes there any more; it is gone, or kept for another.
    [[nodiscard]] bool take_back_empty(const std::filesystem::path& folder);

  private:
    std::optional<std::filesystem::path> any_kept();

    std::mutex mutex_;
    std::vector<std::filesystem::path> kept_;
    std::optional<mode_t> mode_; ///< of those that we made: any other is not handed on
};

/// Whether a run that ended left any. A folder that cannot be looked into has none that could be named.
[[nodiscard]] bool has_artifacts(const std::filesystem::path& folder);

} // namespace chalk::actors
