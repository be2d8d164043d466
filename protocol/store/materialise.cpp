#include "protocol/store/materialise.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/read_tree.hpp"
#include "protocol/store/store_files.hpp"
#include "protocol/store/tree_rules.hpp"
#include "protocol/store/unfinished_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::store {

namespace fs = std::filesystem;

namespace {

class tree_maker {
  public:
    tree_maker(const tree_manifest& tree, chunk_cache& cache, int root) : tree_(tree), cache_(cache), root_(root) {}

    /// The missing chunks. With the first of them the making ends, and the rest of the cache is looked at, so that one
    /// fetch brings all.
    result<std::vector<chunk_need>> make() {
        for (const auto& entry : tree_.entries()) {
            if (auto made = make_entry(entry); !made) {
                return made.error();
            }
        }
        return std::move(missing_);
    }

  private:
    failure refuse(const tree_entry& entry) const {
        return harness_failure(fmt::format("cannot make {}: {}", dump_json(entry.path), errno_text()));
    }

    result<void> make_entry(const tree_entry& entry) {
        if (entry.kind == entry_kind::file) {
            return make_file(entry);
        }
        if (!missing_.empty()) {
            return {};
        }
        const auto parent = open_parent(root_, entry.path);
        const auto name = last_component(entry.path);
        if (entry.kind == entry_kind::symlink) {
            return parent && ::symlinkat(entry.target.c_str(), parent.get(), name.c_str()) == 0 ? result<void>()
                                                                                                : refuse(entry);
        }
        // The umask may have taken from what mkdirat was told.
        return parent && ::mkdirat(parent.get(), name.c_str(), 0755) == 0 &&
                       ::fchmodat(parent.get(), name.c_str(), 0755, 0) == 0
                   ? result<void>()
                   : refuse(entry);
    }

    result<void> make_file(const tree_entry& entry) {
        unique_fd fd;
        if (missing_.empty()) {
            const auto parent = open_parent(root_, entry.path);
            fd.reset(parent ? ::openat(parent.get(), last_component(entry.path).c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                            : -1);
            if (!fd) {
                return refuse(entry);
            }
        }
        for (std::size_t i = 0; i < entry.chunks.size(); ++i) {
            const auto& name = entry.chunks[i];
            if (!missing_.empty() && seen_.contains(name)) {
                continue;
            }
            const auto data = cache_.get(name);
            if (!data) {
                return data.error().as_failure();
            }
            seen_.insert(name);
            const auto size = size_of_chunk(entry.size, i);
            if (!*data) {
                missing_.push_back({name, size});
            } else if ((*data)->size() != size.count) {
                // No other content has this name, so that nobody has the tree. Written, a manifest in the cache, which
                // may be longer than a chunk, could fill the disk under a few names.
                return harness_failure(fmt::format("cannot make {}: chunk {} has {} bytes, not {} as the tree says",
                                                   dump_json(entry.path), name.hex(), (*data)->size(), size.count));
            } else if (missing_.empty() && !write_whole(fd.get(), **data)) {
                return refuse(entry);
            }
        }
        if (!missing_.empty()) {
            return {};
        }
        return ::fchmod(fd.get(), entry.executable ? 0755 : 0644) == 0 ? result<void>() : refuse(entry);
    }

    const tree_manifest& tree_;
    chunk_cache& cache_;
    int root_;
    std::unordered_set<chunk_digest> seen_; ///< looked up already
    std::vector<chunk_need> missing_;
};

/// All files and folders of the tree, and `root` itself.
result<void> sync_tree(const tree_manifest& tree, int root) {
    for (const auto& entry : tree.entries()) {
        if (entry.kind == entry_kind::symlink) {
            continue; // is in its folder
        }
        const auto parent = open_parent(root, entry.path);
        const unique_fd fd(parent ? ::openat(parent.get(), last_component(entry.path).c_str(),
                                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                                  : -1);
        if (!fd || ::fsync(fd.get()) != 0) {
            return harness_failure(fmt::format("cannot sync {}: {}", dump_json(entry.path), errno_text()));
        }
    }
    return ::fsync(root) == 0 ? result<void>() : harness_failure(fmt::format("cannot sync: {}", errno_text()));
}

result<void> sync_by_name(const fs::path& folder) {
    const unique_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) {
        return harness_failure(fmt::format("cannot sync {}: {}", folder.string(), errno_text()));
    }
    return {};
}

/// Fine when the folder at `target` holds the tree and nothing else. That is so when its maker died after the rename
/// and before it could tell anyone. Its syncs are not known of then, so they are made here.
result<void> find_there(const tree_manifest& tree, const fs::path& target, durability kept) {
    const unique_fd root(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!root) {
        return harness_failure(
            fmt::format("{} exists, and is no folder that can be opened: {}", target.string(), errno_text()));
    }
    read_tree_options bounds; // nothing is read beyond what the tree has
    bounds.max_total = tree.size();
    bounds.max_entries = tree.entries().size();
    const auto there = read_tree(target, bounds);
    if (!there || there->tree.digest() != tree.digest()) {
        return harness_failure(fmt::format("{} exists, and holds something else than the tree {}{}{}", target.string(),
                                           tree.digest().hex(), there ? "" : ": ",
                                           there ? std::string() : there.error().message));
    }
    if (kept == durability::until_restart) {
        return {};
    }
    if (auto synced = sync_tree(tree, root.get()); !synced) {
        return harness_failure(fmt::format("{}: {}", target.string(), synced.error().message));
    }
    return sync_by_name(target.parent_path());
}

bool exists_at(const fs::path& target) {
    struct stat about {};
    return ::lstat(target.c_str(), &about) == 0;
}

} // namespace

result<std::vector<chunk_need>> materialise(const tree_manifest& tree, chunk_cache& cache, const fs::path& target,
                                            durability kept) {
    if (exists_at(target)) {
        const auto found = find_there(tree, target, kept);
        return found ? result<std::vector<chunk_need>>(std::vector<chunk_need>()) : found.error();
    }
    auto pinned = cache.pin(tree);
    if (!pinned) {
        return pinned.error().as_failure();
    }
    auto folder = unfinished_folder::make(target);
    if (!folder) {
        return folder.error();
    }
    auto missing = tree_maker(tree, cache, folder->fd()).make();
    if (!missing) {
        return harness_failure(fmt::format("{}: {}", target.string(), missing.error().message));
    }
    if (!missing->empty()) {
        return missing;
    }
    if (::fchmod(folder->fd(), 0755) != 0) {
        return harness_failure(fmt::format("cannot finish {}: {}", target.string(), errno_text()));
    }
    if (kept == durability::power_cut) {
        if (auto synced = sync_tree(tree, folder->fd()); !synced) {
            return harness_failure(fmt::format("{}: {}", target.string(), synced.error().message));
        }
    }
    if (auto named = folder->finish(target); !named) {
        if (!exists_at(target)) {
            return named.error();
        }
        // Somebody else was faster.
        const auto found = find_there(tree, target, kept);
        return found ? std::move(missing) : found.error();
    }
    if (kept == durability::power_cut) {
        if (auto synced = sync_by_name(target.parent_path()); !synced) {
            std::error_code ignored; // what is not durable must not look as if it were
            fs::remove_all(target, ignored);
            return synced.error();
        }
    }
    return missing;
}

} // namespace chalk::store
