/// The limits that every process of the student starts with, beside those of its cgroup and its disk. They hold in
/// every runtime, since they ask nothing of it. A whole command's wall time is its tool call's timeout.
#pragma once

#include "protocol/core/units.hpp"
#include "runtimes/process/spawn.hpp"

#include <functional>
#include <vector>

namespace chalk::confinement {

inline constexpr std::uint64_t student_open_files = 4'096;
inline constexpr seconds student_cpu_time{4 * 3'600};   ///< of one process; SIGKILL after it
inline constexpr bytes student_file_size{64ULL << 30U}; ///< of one file; SIGXFSZ and EFBIG above it

/// Pure. `ceiling` tells the hard limit that is in force for a resource, above which nothing can be set.
[[nodiscard]] std::vector<process::resource_limit>
make_student_limits(const std::function<std::uint64_t(int resource)>& ceiling);

/// What the student may use of a sandbox's memory: all but 1 GiB, which the harness keeps; half of a sandbox that is
/// smaller than 2 GiB.
[[nodiscard]] bytes student_memory(bytes sandbox);

/// For this process's children.
[[nodiscard]] std::vector<process::resource_limit> default_student_limits();

} // namespace chalk::confinement
