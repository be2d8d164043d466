#include "protocol/store/materialise.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/place_tree.hpp"
#include "protocol/store/store_files.hpp"
#include "protocol/store/tree_rules.hpp"

#include <fmt/format.h>

#include <cerrno>
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

} // namespace

result<std::vector<chunk_need>> materialise(const tree_manifest& tree, chunk_cache& cache, const fs::path& target,
                                            durability kept) {
    if (is_placed(target)) {
        const auto found = find_placed(tree, target, kept);
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
    if (auto placed = place_tree(tree, std::move(*folder), target, kept); !placed) {
        return placed.error();
    }
    return missing;
}

} // namespace chalk::store
