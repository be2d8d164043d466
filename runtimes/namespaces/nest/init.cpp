#include "runtimes/namespaces/nest/init.hpp"

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/nest/packets.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <cerrno>
#include <csignal>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::nest {

using namespaces::sandbox_report;

namespace {

/// What the harness needs to hand files to the student, become it and stop it, and no more: nothing here reaches beyond
/// the sandbox's own user namespace anyway. SETPCAP lets it drop the rest for the student.
constexpr int kept_capabilities[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                                     CAP_SETUID, CAP_SETGID,       CAP_KILL,   CAP_SETPCAP};

bool keep_only_needed_capabilities() {
    __user_cap_data_struct sets[2]{};
    for (const int capability : kept_capabilities) {
        sets[capability / 32].permitted |= 1U << (capability % 32);
    }
    sets[0].effective = sets[0].permitted;
    sets[1].effective = sets[1].permitted;
    for (int capability = 0; capability < 64; ++capability) {
        const bool kept = (sets[capability / 32].permitted >> (capability % 32) & 1U) != 0;
        if (!kept && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
            if (errno != EINVAL) {
                return false;
            }
            break; // past the last one that this kernel knows
        }
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capset, &header, sets) == 0;
}

/// The program is in a file that all sandboxes of an owner share: read by position, never through the shared offset.
bool load_seccomp_program() {
    struct stat found {};
    if (::fstat(init_seccomp_fd, &found) != 0 || found.st_size <= 0) {
        return false;
    }
    static sock_filter program[4096];
    const auto size = static_cast<std::size_t>(found.st_size);
    if (size > sizeof program || ::pread(init_seccomp_fd, program, size, 0) != found.st_size) {
        return false;
    }
    const sock_fprog filter{static_cast<unsigned short>(size / sizeof(sock_filter)), program};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

void say_failed(std::string_view what) {
    send(init_owner_fd, namespaces::encode(sandbox_report{sandbox_report::kind::failed, 0, 0, because(what, errno)}));
}

[[noreturn]] void become_harness(char** arguments, char** environment, const sigset_t& no_signals) {
    ::setsid();
    ::close_range(init_owner_fd, ~0U, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::sigprocmask(SIG_SETMASK, &no_signals, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        ::signal(signal, SIG_DFL);
    }
    ::execve(arguments[0], arguments, environment);
    const std::string why = because(std::string("start ") + arguments[0], errno) + "\n";
    (void)!::write(STDERR_FILENO, why.data(), why.size());
    ::_exit(127);
}

bool owner_is_gone() {
    char byte = 0;
    return ::recv(init_owner_fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

} // namespace

int run_init(char** arguments, char** environment) {
    // No process of the sandbox may look into this one: its memory and links lead to the host's side.
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !load_seccomp_program()) {
        say_failed("load the seccomp program");
        return 125;
    }
    if (!keep_only_needed_capabilities()) {
        say_failed("drop capabilities");
        return 125;
    }
    sigset_t children;
    sigset_t none;
    ::sigemptyset(&none);
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    if (owner_is_gone()) {
        return 125;
    }
    const pid_t harness = ::fork();
    if (harness == 0) {
        become_harness(arguments, environment, none);
    }
    if (harness < 0) {
        say_failed("start the harness");
        return 125;
    }
    // The other ends of the harness's descriptors must close when it does, not when we do.
    ::close_range(0, static_cast<unsigned>(init_owner_fd - 1), 0);
    const unique_fd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!ended) {
        say_failed("watch the harness");
        return 125;
    }
    for (;;) {
        pollfd waits[] = {{init_owner_fd, POLLIN | POLLRDHUP, 0}, {ended.get(), POLLIN, 0}};
        if (::poll(waits, 2, -1) < 0 && errno != EINTR) {
            return 125;
        }
        if (waits[0].revents != 0) {
            return 137; // the owner is gone or wants us gone; leaving kills all
        }
        signalfd_siginfo drained{};
        (void)!::read(ended.get(), &drained, sizeof drained); // the loop below asks for every child anyway
        int status = 0;
        for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
            if (pid == harness) {
                send(init_owner_fd, namespaces::encode(sandbox_report{sandbox_report::kind::ended, status, 0, {}}));
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
        }
    }
}

} // namespace chalk::nest
