/// Finds and kills what the student's calls started where no cgroup holds it together: a call's session, its
/// descendants, and orphans that were adopted by this process, recognised by a variable in their environment. A student
/// that forks faster than /proc can be read, or that starts a process with an empty environment, a session of its own
/// and no living parent, gets past the kill of one call; kill_everything finds the latter by its user.
///
/// Owned by student_commands and its scopes. Any thread. Makes this process the reaper of orphans below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

namespace chalk::confinement {

class process_tree {
  public:
    /// `student`: the student's user when it is not this process's own.
    explicit process_tree(std::optional<uid_t> student);

    /// "CHALK_CALL=...", for the environment of call `number`.
    [[nodiscard]] std::string marker(std::uint64_t number) const;

    /// Kills what is alive of the call whose session `leader` leads, until a scan finds nothing new. Returns how many
    /// it found alive.
    std::size_t kill_call(std::uint64_t number, pid_t leader) const;
    [[nodiscard]] bool anything_left(std::uint64_t number, pid_t leader) const;
    /// Kills every process that carries a marker of this object, and adopted orphans of the student's user. Returns the
    /// same.
    std::size_t kill_everything() const;

  private:
    std::optional<uid_t> student_;
    std::string prefix_; ///< "CHALK_CALL=<random>-"
};

/// Whether an orphan of `student` that this process has adopted is there yet: alive, dying or ended and not reaped. A
/// process leaves its cgroup, and may be seen nowhere as alive, some time before it can be reaped.
[[nodiscard]] bool adopted_left(uid_t student);

/// Reaps ended orphans of `student` that this process has adopted (as pid 1 or as a subreaper).
void reap_adopted(std::optional<uid_t> student);

} // namespace chalk::confinement
