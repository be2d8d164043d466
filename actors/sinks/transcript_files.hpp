/// Writes transcripts so that each is either whole and on disk, or not there: temporary name, fsync, rename, fsync of
/// the folder. Many at once: the syncs of a batch are paid together. Blocking; called on the pool.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace chalk::actors {

struct file_job {
    std::filesystem::path file;
    std::function<std::string()> content; ///< called once, on the writing thread
};

/// One result a job, in their order. As root, each file is given to the owner of its folder. error_class::harness names
/// the file and the system's reason; nothing is left of a file that failed.
[[nodiscard]] std::vector<result<void>> write_durably(const std::vector<file_job>& jobs);

/// Gives `path` and all below it to the owner of `like`, without following links: what a sandbox's root wrote belongs
/// to whoever owns the folder. Does nothing unless we are root.
[[nodiscard]] result<void> give_to_owner_of(const std::filesystem::path& path, const std::filesystem::path& like);

} // namespace chalk::actors
