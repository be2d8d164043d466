/// Control groups that a harness makes for itself and its student, in a sandbox that gives it a writable cgroup: an
/// engine's container or a virtual machine. (The embedded runtime makes its groups outside, out of reach.)
///
///   <cgroup>/chalk_harness   the harness and what else was there
///   <cgroup>/chalk_student   with the student's limits
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::confinement {

struct own_hierarchy {
    std::filesystem::path folder;
    bool v2 = false;
    bool memory = false;
    bool pids = false;
};

/// What is mounted below `root` (/sys/fs/cgroup) and can be written to; empty as a rule.
[[nodiscard]] std::vector<own_hierarchy> find_own_hierarchies(const std::filesystem::path& root);

struct own_limits {
    std::optional<bytes> memory; ///< absent: nobody said how large the sandbox is, and there is no limit
    std::uint32_t processes = 512;
};

struct own_groups {
    std::vector<unique_fd> student_procs; ///< to write "0" to, one a hierarchy
    bool v2 = false;
    std::string note; ///< for the confinement note
};

/// Moves this process (version 2: all that are in the group, since one with processes cannot pass controllers on) into
/// chalk_harness and makes chalk_student. Both stay when the process ends: they go with the sandbox. Call it before
/// there are threads. error_class::sandbox with the step that failed.
[[nodiscard]] result<own_groups> make_own_groups(const std::vector<own_hierarchy>& where, const own_limits& limits);

} // namespace chalk::confinement
