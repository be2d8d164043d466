/// What holds one call's processes together so that they can be killed as a whole: a cgroup of its own where the host
/// gave us a folder for such, otherwise what /proc tells. Any thread.
///
/// Owned by student_commands from the call's start until nothing of it is left, background processes included.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/confinement/process_tree.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <cstdint>
#include <memory>

namespace chalk::confinement {

class call_scope {
  public:
    call_scope() = default;
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;
    virtual ~call_scope() = default;

    /// Makes `what` join the scope when it starts.
    virtual void enter(process::command& what) const = 0;
    /// `pid` leads the call's session. Before it, the scope is empty.
    virtual void started(pid_t pid) = 0;
    /// One round of SIGKILL for all that is in it. True when it found nothing alive.
    [[nodiscard]] virtual bool kill_round() = 0;
    /// Gives the scope's own resources back. False while something still runs in it.
    [[nodiscard]] virtual bool remove() = 0;
    /// Did the kernel kill for memory in it? False when that cannot be known.
    [[nodiscard]] virtual bool memory_exhausted() const = 0;
};

/// A group below `where.calls_folder`, which must be set and outlive the scope.
[[nodiscard]] result<std::unique_ptr<call_scope>> make_group_scope(const student_cgroup& where, std::uint64_t number);

/// For machines without a cgroup of ours.
[[nodiscard]] std::unique_ptr<call_scope> make_tree_scope(std::shared_ptr<process_tree> tree,
                                                          const student_cgroup& where, std::uint64_t number);

} // namespace chalk::confinement
