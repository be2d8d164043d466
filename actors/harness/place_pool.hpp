/// Emptied folders of local runs that ended, kept for the next ones. Making and removing folders costs a short run more
/// than all else: ext4 passes over every inode that was deleted within the last seconds before it hands out one.
///
/// Any thread; all of it blocks. Folders that cannot be emptied, or are no longer as they were made, are removed.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include <sys/types.h>

namespace chalk::actors {

/// The folders of one run, and their modes, in the order in which they are made: a folder before those in it.
struct place_shape {
    const char* path;
    mode_t mode;
};
inline constexpr place_shape place_shapes[] = {
    {"workdir", 01777},  {"workdir/data", 0755},      {"workdir/shared", 0755},
    {"root_data", 0700}, {"intermediate_data", 0700}, {"out", 0700},
};

class place_pool {
  public:
    place_pool() = default;
    place_pool(const place_pool&) = delete;
    place_pool& operator=(const place_pool&) = delete;
    ~place_pool() { close(); }

    /// A private folder that has the folders of `place_shapes`, all of them empty. error_class::harness.
    [[nodiscard]] result<std::filesystem::path> take();

    /// `folder` came from take(), and nothing runs in it any more: what still had it open would be in the next run's.
    /// It is gone, or kept. error_class::harness with the file that would not go.
    [[nodiscard]] result<void> give_back(const std::filesystem::path& folder);

    /// The same when something may still run in it: it goes. error_class::harness with the file that would not.
    [[nodiscard]] static result<void> remove(const std::filesystem::path& folder);

    /// Removes what is kept; what is given back later is removed at once.
    void close();

  private:
    std::mutex mutex_;
    std::vector<std::filesystem::path> kept_;
    bool closed_ = false;
};

} // namespace chalk::actors
