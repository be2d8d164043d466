/// Starts a child process at a small, constant cost: clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD) on a stack of its own,
/// signals reset, every descriptor closed that was not asked for, then exec. See docs/adr for why not fork or
/// Boost.Process.
///
/// No owner: functions without state of their own. A child that was started outlives its `child` object; when its
/// parent thread ends, the parent-death signal ends it.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace chalk::process {

/// One descriptor of ours that the child gets under a number of its own.
struct inherited_fd {
    int ours = -1;
    int child = -1;
};

/// Who the child becomes just before exec. Supplementary groups are emptied, no_new_privs is set, capabilities and the
/// bounding set are dropped.
struct identity {
    uid_t uid = 0;
    gid_t gid = 0;
};

struct resource_limit {
    int resource = 0; ///< RLIMIT_*
    std::uint64_t value = 0;
};

struct command {
    std::string executable; ///< an absolute path, or a name looked up in `environment`'s PATH
    /// Executed instead of a path when set (then `executable` is argv[0] only): an open program whose folder the
    /// child's identity cannot reach. The file itself must be executable for that identity. Stays ours, is not
    /// inherited.
    std::optional<int> executable_fd;
    std::vector<std::string> arguments;    ///< argv, without the program's name
    std::vector<std::string> environment;  ///< "NAME=value"; nothing is inherited
    std::string working_directory;         ///< empty: ours
    std::vector<inherited_fd> descriptors; ///< 0, 1 and 2 default to /dev/null
    std::optional<identity> become;
    std::vector<resource_limit> limits;
    /// Open cgroup.procs files into which the child writes "0" before anything of its own runs.
    std::vector<int> cgroup_procs;
    bool new_session = true; ///< setsid
    std::optional<int> parent_death_signal =
        9; ///< set last, since a change of uid clears it; needs a long-lived thread
};

/// A running child. Destroying it does not kill: who owns the child decides (see student_commands, environment actor).
struct child {
    pid_t pid = -1;
    unique_fd pidfd;
};

struct exit_status {
    static constexpr int lost = -1; ///< a `code`: the child ended, but something else in this process reaped it
    int code = 0;                   ///< exit code, when signal is 0
    int signal = 0;                 ///< the signal that ended it
    [[nodiscard]] bool success() const noexcept { return code == 0 && signal == 0; }
};

/// "exit code 3", "killed by signal 9 (SIGKILL)".
[[nodiscard]] std::string describe(const exit_status& status);

/// Blocks until exec succeeded or failed (well under a millisecond). error_class::sandbox with the step that failed and
/// the system's reason; no child is left then. Call it from a thread that lives as long as the child may, or the
/// parent-death signal fires early: the io thread.
[[nodiscard]] result<child> spawn(const command& what);

/// True while `pid` is a child that spawn() started and that async_wait() has not reaped: what a reaper of adopted
/// orphans must leave alone. Hold the lock that comes with it across check and waitpid.
class own_children_lock {
  public:
    own_children_lock();
    own_children_lock(const own_children_lock&) = delete;
    own_children_lock& operator=(const own_children_lock&) = delete;
    ~own_children_lock();
    [[nodiscard]] bool started_here(pid_t pid) const noexcept;
};

/// Reaps `c` when it ends, on `io`'s thread. `done` runs exactly once.
void async_wait(boost::asio::io_context& io, child c, std::function<void(exit_status)> done);

/// A pipe whose both ends are close-on-exec.
struct pipe_ends {
    unique_fd read;
    unique_fd write;
};
[[nodiscard]] result<pipe_ends> make_pipe();

} // namespace chalk::process
