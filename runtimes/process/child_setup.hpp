/// What a child does between clone and exec. It shares its parent's memory and must not allocate, lock, or call
/// anything that a sanitizer intercepts: raw system calls only (glibc's setresuid, for one, would signal the parent's
/// threads).
///
/// Owned by spawn(), whose thread is suspended while the child is here.
#pragma once

#include "runtimes/process/spawn.hpp"

#include <cstddef>

namespace chalk::process {

enum class child_step {
    none,
    cgroup,
    session,
    move_descriptor,
    place_descriptor,
    close_descriptors,
    limit,
    groups,
    bounding_set,
    group_id,
    user_id,
    capabilities,
    new_privileges,
    working_directory,
    parent_death,
    execute
};

/// Everything is prepared by the parent. `failed_step` and `error` are the child's report.
struct child_setup {
    const char* path = nullptr;
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    int executable_fd = -1;
    const char* working_directory = nullptr;
    const inherited_fd* descriptors = nullptr;
    int* moved = nullptr; ///< as many as descriptors
    std::size_t descriptor_count = 0;
    const resource_limit* limits = nullptr;
    std::size_t limit_count = 0;
    const int* cgroup_procs = nullptr;
    std::size_t cgroup_count = 0;
    const identity* become = nullptr;
    bool new_session = true;
    int parent_death_signal = 0;
    pid_t parent = -1;

    child_step failed_step = child_step::none;
    int error = 0;
};

/// For clone(2); `argument` is a child_setup. Ends in exec or in _exit(127) with the report filled in.
int run_child(void* argument);

/// "enter the working directory /x" and so on.
[[nodiscard]] std::string describe(child_step step, const command& what);

} // namespace chalk::process
