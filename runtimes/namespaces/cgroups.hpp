/// The control groups of sandboxes: made by the host, with limits one level above anything that is handed into a
/// sandbox.
///
///   <base>/chalk/<owner>/<run>           limits of the sandbox; version 2: no process
///   <base>/chalk/<owner>/<run>/harness   version 2 only: the harness (version 1: it is in <run> itself)
///   <base>/chalk/<owner>/<run>/student   limits of the student
///   .../student/calls                    belongs to the sandbox's root, which makes a group per call in it
///
/// <base> is the group that chalk itself is in, where chalk may write there, else the hierarchy's root.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
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
/// is not asked. `base` is our own group's folder; the fallback, the hierarchy's root, comes second where it differs.
struct cgroup_candidates {
    bool v2 = false;
    bool memory = false;
    bool pids = false;
    std::vector<std::filesystem::path> bases;
};
[[nodiscard]] std::vector<cgroup_candidates> find_hierarchies(std::string_view own_groups, std::string_view mounts);

/// The groups of one sandbox. Its destructor leaves them: remove() says why it could not.
class sandbox_cgroup {
  public:
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
    friend class cgroups;
    std::vector<std::filesystem::path> groups_; ///< what was made, each after the one that holds it
    std::vector<std::filesystem::path> memory_events_;
    std::vector<unique_fd> student_procs_;
    std::vector<unique_fd> join_;
    unique_fd calls_folder_;
    unique_fd into_;
    bool v2_ = false;
};

class cgroups {
  public:
    /// Looks at the machine. Makes nothing yet.
    explicit cgroups(std::string owner);

    /// Makes a sandbox's groups. nullopt: this machine lets us have none (see note()). `delegate_to` is the host's uid
    /// of the sandbox's root. Thread-safe.
    [[nodiscard]] result<std::optional<sandbox_cgroup>> make(const run_id& id, const sandbox_limits& limits,
                                                             uid_t delegate_to) const;

    /// Which limits the kernel enforces here, for people: "cgroup v1 (memory, pids)".
    [[nodiscard]] std::string note() const;
    [[nodiscard]] bool available() const noexcept { return !hierarchies_.empty(); }
    /// This owner's folders, for chalk-nest to remove should we be killed.
    [[nodiscard]] std::vector<std::string> owner_folders() const;
    /// Folders `chalk` of all owners, with those of other bases where an earlier chalk may have been.
    [[nodiscard]] std::vector<std::filesystem::path> all_owners_folders() const;

  private:
    std::string owner_;
    std::vector<cgroup_hierarchy> hierarchies_;
    std::vector<std::filesystem::path> all_bases_;
};

/// Kills what is in the groups below `folder` and removes them. Used on what owners that are gone left.
[[nodiscard]] result<void> kill_and_remove(const std::filesystem::path& folder);

} // namespace chalk::namespaces
