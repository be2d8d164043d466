/// What a user's processes and files take, from /proc and from the folders that he can write to, for runtimes whose
/// kernel enforces no limit; and whether that is too much.
#pragma once

#include "protocol/core/units.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sys/types.h>

namespace chalk::confinement {

struct student_usage {
    bytes memory; ///< resident, pages that are shared counted for each process
    bytes disk;   ///< blocks of his files
    std::uint64_t processes = 0;
};

/// Absent: not watched, since the kernel holds it.
struct watched_limits {
    std::optional<bytes> memory;
    std::optional<bytes> disk;
    std::optional<std::uint64_t> processes;
};

/// Pure. Which limit is passed, in words for the log; nullopt: none. Reaching it is still allowed.
[[nodiscard]] std::optional<std::string> passed_limit(const student_usage& used, const watched_limits& limits);

/// Blocking: walks `folders` without following links or leaving their file systems. What vanishes meanwhile counts as
/// nothing. Once `enough` is asked for it returns what it has so far.
[[nodiscard]] student_usage measure_usage(uid_t student, const std::vector<std::filesystem::path>& folders,
                                          const std::stop_token& enough = {});

/// SIGKILL for every process of `student`, again until a look finds none, some hundred times at most. The number that
/// were killed.
std::size_t kill_all_of(uid_t student);

} // namespace chalk::confinement
