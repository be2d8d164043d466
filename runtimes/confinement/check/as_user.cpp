#include "runtimes/confinement/check/as_user.hpp"

#include <cerrno>
#include <csignal>

#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::confinement::check {

std::optional<child_end> as_user(const settings& how, const std::function<int(std::uint64_t&)>& body) {
    void* shared = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return std::nullopt;
    }
    auto& counter = *static_cast<std::uint64_t*>(shared);
    // What the child leaves behind becomes ours, to be reaped below: whoever else would get it may never look.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();
        for (const int group : how.cgroup_procs) {
            if (::write(group, "0", 1) != 1) {
                ::_exit(121);
            }
        }
        if ((::setgroups(0, nullptr) != 0 && errno != EPERM) || ::setresgid(how.user, how.user, how.user) != 0 ||
            ::setresuid(how.user, how.user, how.user) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
            ::_exit(122);
        }
        ::_exit(body(counter));
    }
    std::optional<child_end> end;
    if (child > 0) {
        // Not reaped yet, so that its number, which is its group's too, is still its own.
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
        }
        ::kill(-child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        while (::waitpid(-child, nullptr, 0) > 0 || errno == EINTR) {
        }
        end =
            child_end{counter, WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0};
    }
    ::munmap(shared, sizeof(std::uint64_t));
    return end;
}

} // namespace chalk::confinement::check
