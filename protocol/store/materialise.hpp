/// A tree out of the cache, as a folder.
///
/// Files are copies. A hard link would be cheaper, and would be the cache's own file: whoever may write it in a sandbox
/// (its root may) changes what the next run gets, and a change of its mode or owner is one of the cache's. A reflink
/// would be safe and is not to be had on ext4, overlayfs or tmpfs. What is copied has to be read anyway, to hold it
/// against its name.
///
/// The folder is made under another name beside the target (".NAME.RANDOM.unfinished") and renamed: at the target's
/// name there is all of it or nothing, whenever the process is killed. Files get 0644 or, executable, 0755, folders
/// 0755, whatever the umask; the owner is the process's.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/store/chunk_cache.hpp"

#include <filesystem>
#include <vector>

namespace chalk::store {

enum class durability {
    /// Nothing is synced: for what is made again from the cache after a restart of the machine (environments), whose
    /// owner must not trust a folder from before it.
    until_restart,
    /// Files and folders are synced before the rename, and the rename after it: for what a journal will say is there
    /// (results).
    power_cut,
};

/// Blocking. Pins the tree only for as long as it works: who fetches for it pins first. Returns the chunks that the
/// cache lacks or had damaged: fetch them and try again. None: the folder is there. A target that holds the same tree
/// already (paths, contents, which files are executable) is there too; it is synced when `kept` says so.
/// error_class::harness with path and cause when the target is anything else, which then stays what it was, when a
/// chunk has another size than the tree says, or the disk refuses. On all of them nothing is left beside the target.
[[nodiscard]] result<std::vector<chunk_need>> materialise(const tree_manifest& tree, chunk_cache& cache,
                                                          const std::filesystem::path& target, durability kept);

/// Removes what killed processes left unfinished in `folder`; what others make at the moment stays. Blocking. How many.
std::size_t remove_unfinished(const std::filesystem::path& folder);

} // namespace chalk::store
