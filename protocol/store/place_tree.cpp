#include "protocol/store/place_tree.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/read_tree.hpp"
#include "protocol/store/store_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::store {

namespace fs = std::filesystem;

namespace {

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

} // namespace

result<void> find_placed(const tree_manifest& tree, const fs::path& target, durability kept) {
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

bool is_placed(const fs::path& target) {
    struct stat about {};
    return ::lstat(target.c_str(), &about) == 0;
}

result<void> place_tree(const tree_manifest& tree, unfinished_folder folder, const fs::path& target, durability kept) {
    if (::fchmod(folder.fd(), 0755) != 0) {
        return harness_failure(fmt::format("cannot finish {}: {}", target.string(), errno_text()));
    }
    if (kept == durability::power_cut) {
        if (auto synced = sync_tree(tree, folder.fd()); !synced) {
            return harness_failure(fmt::format("{}: {}", target.string(), synced.error().message));
        }
    }
    if (auto named = folder.finish(target); !named) {
        // Where it is there now, somebody else was faster.
        return is_placed(target) ? find_placed(tree, target, kept) : named;
    }
    if (kept == durability::power_cut) {
        if (auto synced = sync_by_name(target.parent_path()); !synced) {
            std::error_code ignored; // what is not durable must not look as if it were
            fs::remove_all(target, ignored);
            return synced;
        }
    }
    return {};
}

} // namespace chalk::store
