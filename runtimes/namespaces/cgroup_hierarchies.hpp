/// Which control group hierarchies a machine has, and where this process is in them. Pure: the texts are handed in.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace chalk::namespaces {

/// One mounted hierarchy that we use, e.g. version 1's "memory" at /sys/fs/cgroup/memory, or version 2 with both.
struct cgroup_hierarchy {
    bool v2 = false;
    bool memory = false;
    bool pids = false;
    std::filesystem::path base;
};

/// What this machine offers, from the texts of /proc/self/cgroup and /proc/self/mountinfo. Whether it can be written to
/// is not asked. The first of `bases` is our own group's folder; those above it follow, up to the hierarchy's root.
/// `memory` and `pids` are told of version 1 alone: version 2 has a file that says so.
struct cgroup_candidates {
    bool v2 = false;
    bool memory = false;
    bool pids = false;
    std::vector<std::filesystem::path> bases;
};
[[nodiscard]] std::vector<cgroup_candidates> find_hierarchies(std::string_view own_groups, std::string_view mounts);

} // namespace chalk::namespaces
