/// The control groups of sandboxes: made by the host, with limits one level above anything that is handed into a
/// sandbox.
///
///   <base>/chalk/<owner>/<run>           limits of the sandbox; version 2: no process
///   <base>/chalk/<owner>/<run>/harness   version 2 only: the harness (version 1: it is in <run> itself)
///   <base>/chalk/<owner>/<run>/student   limits of the student
///   .../student/calls                    belongs to the sandbox's root, which makes a group per call in it
///
/// <base> is the group that chalk itself is in, or the nearest one above it where chalk may make groups.
///
/// Owner: the runtime.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/namespaces/cgroup_hierarchies.hpp"
#include "runtimes/namespaces/sandbox_cgroup.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::namespaces {

class cgroups {
  public:
    /// Looks at the machine. Makes nothing yet.
    explicit cgroups(std::string owner);

    /// Makes a sandbox's groups. nullopt: this machine lets us have none (see note()). `delegate_to` is the host's uid
    /// of the sandbox's root. error_class::sandbox; what was made goes again. Thread-safe.
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
    [[nodiscard]] result<void> open_owner(const cgroup_hierarchy& which) const;

    std::string owner_;
    std::vector<cgroup_hierarchy> hierarchies_;
    std::vector<std::filesystem::path> all_bases_;
};

} // namespace chalk::namespaces
