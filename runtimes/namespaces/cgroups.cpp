#include "runtimes/namespaces/cgroups.hpp"

#include "protocol/core/read_file.hpp"
#include "runtimes/cannot.hpp"
#include "runtimes/namespaces/cgroup_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

constexpr const char* our_folder = "chalk";

/// The last owner that ends takes the folder of all owners with it, perhaps between our two calls.
result<void> make_owners_group(const fs::path& ours, const fs::path& owners) {
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
        if (auto done = make_group(ours); !done) {
            return done;
        }
        if (::mkdir(owners.c_str(), 0755) == 0 || errno == EEXIST) {
            return {};
        }
        if (errno != ENOENT) {
            break;
        }
    }
    return cannot("make the cgroup", owners, errno);
}

/// Can we make groups with these controllers below `base`? Only looks.
bool usable(const cgroup_candidates& which, const fs::path& base) {
    if (::access(base.c_str(), W_OK) != 0 || ::access((base / "cgroup.procs").c_str(), W_OK) != 0) {
        return false;
    }
    if (!which.v2) {
        return true;
    }
    const std::string on = read_or_empty(base / "cgroup.subtree_control");
    if ((!which.memory || has_word(on, "memory")) && (!which.pids || has_word(on, "pids"))) {
        return true;
    }
    // A group that holds processes cannot pass controllers on; the root can. It has no cgroup.type.
    std::error_code error;
    return !fs::exists(base / "cgroup.type", error) || read_or_empty(base / "cgroup.procs").empty();
}

} // namespace

cgroups::cgroups(std::string owner) : owner_(std::move(owner)) {
    bool memory = false;
    bool pids = false;
    for (const cgroup_candidates& which :
         find_hierarchies(read_or_empty("/proc/self/cgroup"), read_or_empty("/proc/self/mountinfo"))) {
        cgroup_candidates wanted = which;
        if (which.v2 && !which.bases.empty()) {
            const std::string controllers = read_or_empty(which.bases.back() / "cgroup.controllers");
            wanted.memory = has_word(controllers, "memory");
            wanted.pids = has_word(controllers, "pids");
        }
        wanted.memory = wanted.memory && !memory;
        wanted.pids = wanted.pids && !pids;
        if (!wanted.memory && !wanted.pids) {
            continue;
        }
        all_bases_.insert(all_bases_.end(), which.bases.begin(), which.bases.end());
        const auto base = std::find_if(which.bases.begin(), which.bases.end(),
                                       [&](const fs::path& one) { return usable(wanted, one); });
        if (base != which.bases.end()) {
            hierarchies_.push_back({which.v2, wanted.memory, wanted.pids, *base});
            memory = memory || wanted.memory;
            pids = pids || wanted.pids;
        }
    }
}

/// The group of this owner in one hierarchy. The first sandbox makes it; who ends last removes it.
result<void> cgroups::open_owner(const cgroup_hierarchy& which) const {
    const fs::path ours = which.base / our_folder;
    const fs::path owners = ours / owner_;
    if (::access(owners.c_str(), F_OK) == 0) {
        return {};
    }
    if (auto done = make_owners_group(ours, owners); !done) {
        return done;
    }
    if (which.memory && !which.v2) {
        (void)write_group_file(owners / "memory.use_hierarchy", "1"); // kernels before 5.11; always on since
    }
    if (which.v2) {
        for (const fs::path& group : {which.base, ours, owners}) {
            if (auto done = enable_controllers(group, which); !done) {
                return done;
            }
        }
    }
    return {};
}

result<std::optional<sandbox_cgroup>> cgroups::make(const run_id& id, const sandbox_limits& limits,
                                                    uid_t delegate_to) const {
    if (hierarchies_.empty()) {
        return std::optional<sandbox_cgroup>();
    }
    sandbox_cgroup made;
    for (const cgroup_hierarchy& which : hierarchies_) {
        auto done = open_owner(which);
        if (done) {
            done = made.add(which, which.base / our_folder / owner_ / id.str(), limits, delegate_to);
        }
        if (!done) {
            (void)made.remove(); // the failure that counts is the first
            return done.error();
        }
    }
    return std::optional<sandbox_cgroup>(std::move(made));
}

std::string cgroups::note() const {
    std::string parts;
    for (const cgroup_hierarchy& which : hierarchies_) {
        for (const auto& [on, name] : {std::pair(which.memory, "memory"), std::pair(which.pids, "pids")}) {
            if (on) {
                parts += fmt::format("{}{}", parts.empty() ? "" : ", ", name);
            }
        }
    }
    return parts.empty() ? std::string("no cgroups")
                         : fmt::format("cgroup v{} ({})", hierarchies_.front().v2 ? 2 : 1, parts);
}

std::vector<std::string> cgroups::owner_folders() const {
    std::vector<std::string> folders;
    for (const cgroup_hierarchy& which : hierarchies_) {
        folders.push_back((which.base / our_folder / owner_).string());
    }
    return folders;
}

std::vector<fs::path> cgroups::all_owners_folders() const {
    std::vector<fs::path> folders;
    for (const fs::path& base : all_bases_) {
        folders.push_back(base / our_folder);
    }
    return folders;
}

} // namespace chalk::namespaces
