#include "runtimes/process/child_setup.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// The child runs on a stack that the sanitizers do not know, in memory that its parent still uses.
#define CHALK_CHILD_CODE __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

namespace chalk::process {
namespace {

CHALK_CHILD_CODE bool reset_signals() {
    // The kernel's struct sigaction, zeroed: SIG_DFL whatever its layout is.
    unsigned long nothing[8] = {};
    constexpr unsigned long mask_size = 8;
    for (int number = 1; number <= 64; ++number) {
        // SIGKILL and SIGSTOP are refused, as they should be.
        ::syscall(SYS_rt_sigaction, number, nothing, nullptr, mask_size);
    }
    return ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, nothing, nullptr, mask_size) == 0;
}

CHALK_CHILD_CODE bool mark_all_close_on_exec() {
    if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
        return true;
    }
    if (errno != ENOSYS && errno != EINVAL) {
        return false;
    }
    // Before Linux 5.11, one by one.
    struct rlimit open_files {};
    if (::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &open_files) != 0) {
        return false;
    }
    for (unsigned long number = 3; number < open_files.rlim_cur; ++number) {
        ::syscall(SYS_fcntl, number, F_SETFD, FD_CLOEXEC); // EBADF for most
    }
    return true;
}

/// Ours and the child's numbers may overlap in any way: first everything moves above all of them, then into place.
CHALK_CHILD_CODE child_step arrange_descriptors(child_setup& setup) {
    int above = 3;
    for (std::size_t i = 0; i < setup.descriptor_count; ++i) {
        const int number = setup.descriptors[i].child;
        above = number >= above ? number + 1 : above;
    }
    for (std::size_t i = 0; i < setup.descriptor_count; ++i) {
        const long moved = ::syscall(SYS_fcntl, setup.descriptors[i].ours, F_DUPFD_CLOEXEC, above);
        if (moved < 0) {
            return child_step::move_descriptor;
        }
        setup.moved[i] = static_cast<int>(moved);
    }
    if (setup.executable_fd >= 0) {
        const long moved = ::syscall(SYS_fcntl, setup.executable_fd, F_DUPFD_CLOEXEC, above);
        if (moved < 0) {
            return child_step::move_descriptor;
        }
        setup.executable_fd = static_cast<int>(moved);
    }
    if (!mark_all_close_on_exec()) {
        return child_step::close_descriptors;
    }
    for (std::size_t i = 0; i < setup.descriptor_count; ++i) {
        // dup3 without flags: the copy stays open across exec.
        if (::syscall(SYS_dup3, setup.moved[i], setup.descriptors[i].child, 0) < 0) {
            return child_step::place_descriptor;
        }
    }
    return child_step::none;
}

CHALK_CHILD_CODE child_step change_identity(const identity& who) {
    const bool already =
        ::syscall(SYS_getuid) == static_cast<long>(who.uid) && ::syscall(SYS_geteuid) == static_cast<long>(who.uid) &&
        ::syscall(SYS_getgid) == static_cast<long>(who.gid) && ::syscall(SYS_getegid) == static_cast<long>(who.gid);
    // An unprivileged harness that stays who it is cannot drop its groups, and gains nothing that it had not.
    if (::syscall(SYS_setgroups, 0, nullptr) != 0 && !(already && errno == EPERM)) {
        return child_step::groups;
    }
    ::syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); // unknown before Linux 4.3: none to clear
    for (unsigned long capability = 0; capability < 64; ++capability) {
        if (::syscall(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
            if (errno == EINVAL || (already && errno == EPERM)) {
                break; // past the kernel's last one, or not ours to drop
            }
            return child_step::bounding_set;
        }
    }
    if (::syscall(SYS_setresgid, who.gid, who.gid, who.gid) != 0) {
        return child_step::group_id;
    }
    if (::syscall(SYS_setresuid, who.uid, who.uid, who.uid) != 0) {
        return child_step::user_id;
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capset, &header, none) != 0) {
        return child_step::capabilities;
    }
    if (::syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return child_step::new_privileges;
    }
    return child_step::none;
}

/// Returns the step that failed; does not return when exec succeeds.
CHALK_CHILD_CODE child_step set_up_and_execute(child_setup& setup) {
    reset_signals();
    for (std::size_t i = 0; i < setup.cgroup_count; ++i) {
        if (::syscall(SYS_write, setup.cgroup_procs[i], "0", 1) != 1) {
            return child_step::cgroup;
        }
    }
    if (setup.new_session && ::syscall(SYS_setsid) < 0) {
        return child_step::session;
    }
    if (const auto failed = arrange_descriptors(setup); failed != child_step::none) {
        return failed;
    }
    for (std::size_t i = 0; i < setup.limit_count; ++i) {
        struct rlimit limit {};
        limit.rlim_cur = setup.limits[i].value;
        limit.rlim_max = setup.limits[i].value;
        if (::syscall(SYS_prlimit64, 0, setup.limits[i].resource, &limit, nullptr) != 0) {
            return child_step::limit;
        }
    }
    if (setup.become != nullptr) {
        if (const auto failed = change_identity(*setup.become); failed != child_step::none) {
            return failed;
        }
    }
    if (setup.working_directory != nullptr && ::syscall(SYS_chdir, setup.working_directory) != 0) {
        return child_step::working_directory;
    }
    if (setup.parent_death_signal != 0) { // a change of uid clears it, so it comes last
        if (::syscall(SYS_prctl, PR_SET_PDEATHSIG, setup.parent_death_signal, 0, 0, 0) != 0) {
            return child_step::parent_death;
        }
        if (::syscall(SYS_getppid) != setup.parent) { // it died before we asked to be told
            errno = ESRCH;
            return child_step::parent_death;
        }
    }
    if (setup.executable_fd >= 0) {
        ::syscall(SYS_execveat, setup.executable_fd, "", setup.argv, setup.envp, AT_EMPTY_PATH);
    } else {
        ::syscall(SYS_execve, setup.path, setup.argv, setup.envp);
    }
    return child_step::execute;
}

} // namespace

CHALK_CHILD_CODE int run_child(void* argument) {
    auto& setup = *static_cast<child_setup*>(argument);
    const auto failed = set_up_and_execute(setup);
    setup.error = errno;
    setup.failed_step = failed;
    ::syscall(SYS_exit_group, 127);
    __builtin_unreachable();
}

std::string describe(child_step step, const command& what) {
    switch (step) {
    case child_step::none:
        return "nothing failed";
    case child_step::cgroup:
        return "join its cgroup";
    case child_step::session:
        return "setsid";
    case child_step::move_descriptor:
    case child_step::place_descriptor:
        return "hand down its descriptors";
    case child_step::close_descriptors:
        return "close the other descriptors";
    case child_step::limit:
        return "set its resource limits";
    case child_step::groups:
        return "drop supplementary groups";
    case child_step::bounding_set:
        return "drop the capability bounding set";
    case child_step::group_id:
        return fmt::format("become group {}", what.become->gid);
    case child_step::user_id:
        return fmt::format("become user {}", what.become->uid);
    case child_step::capabilities:
        return "drop capabilities";
    case child_step::new_privileges:
        return "set no_new_privs";
    case child_step::working_directory:
        return fmt::format("enter {}", what.working_directory);
    case child_step::parent_death:
        return "bind its life to its parent's";
    case child_step::execute:
        return "exec";
    }
    return "unknown step";
}

} // namespace chalk::process
