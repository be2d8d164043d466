/// The control groups of one sandbox (cgroups.hpp has their layout).
///
/// Owner: the sandbox's handle.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/cgroup_hierarchies.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <functional>
#include <vector>

namespace chalk::namespaces {

/// Its destructor leaves the groups: remove() says why it could not.
class sandbox_cgroup {
  public:
    /// Makes its groups in one more hierarchy: `run`, which is new, and those below. `delegate_to` is the host's uid of
    /// the sandbox's root. error_class::sandbox; what was made till then is there for remove().
    [[nodiscard]] result<void> add(const cgroup_hierarchy& which, const std::filesystem::path& run,
                                   const sandbox_limits& limits, uid_t delegate_to);

    /// Descriptors for the harness, in the order of `student()`'s numbers, and for the sandbox's first process.
    [[nodiscard]] const std::vector<unique_fd>& student_procs() const noexcept { return student_procs_; }
    [[nodiscard]] const unique_fd& calls_folder() const noexcept { return calls_folder_; }
    [[nodiscard]] const std::vector<unique_fd>& join() const noexcept { return join_; } ///< write "0" to each
    [[nodiscard]] const unique_fd& into() const noexcept { return into_; }              ///< version 2: clone into it
    [[nodiscard]] bool v2() const noexcept { return v2_; }

    /// Asks whether the kernel killed something in it because a memory limit was reached. Valid until remove().
    [[nodiscard]] std::function<bool()> memory_probe() const;
    /// Processes must be gone. error_class::sandbox.
    [[nodiscard]] result<void> remove();
    /// Closes what only the sandbox's start needed.
    void close_descriptors();

  private:
    [[nodiscard]] result<void> make(const std::filesystem::path& group);
    [[nodiscard]] result<void> add_student(const cgroup_hierarchy& which, const std::filesystem::path& student,
                                           const sandbox_limits& limits);
    [[nodiscard]] result<void> add_harness(const cgroup_hierarchy& which, const std::filesystem::path& run,
                                           uid_t delegate_to);
    [[nodiscard]] result<void> add_calls(const std::filesystem::path& calls, uid_t delegate_to);

    std::vector<std::filesystem::path> groups_; ///< what was made, each after the one that holds it
    std::vector<std::filesystem::path> memory_events_;
    std::vector<unique_fd> student_procs_;
    std::vector<unique_fd> join_;
    unique_fd calls_folder_;
    unique_fd into_;
    bool v2_ = false;
};

} // namespace chalk::namespaces
