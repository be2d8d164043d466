#include "runtimes/namespaces/nest/init.hpp"

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/nest/lease_watch.hpp"
#include "runtimes/namespaces/nest/packets.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::nest {

using namespaces::sandbox_report;

namespace {

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

int run_init(pid_t harness, char** arguments, char** environment, std::optional<lease_view> lease) {
    if (!lease) {
        say_failed("look at the lease");
        return 125;
    }
    // No process of the sandbox may look into this one: its memory and links lead to the host's side.
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t children;
    sigset_t none;
    ::sigemptyset(&none);
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    if (owner_is_gone()) {
        return 125;
    }
    if (harness == 0) {
        ::close(init_lease_fd); // mapped by now
        harness = ::fork();
        if (harness == 0) {
            become_harness(arguments, environment, none);
        }
        if (harness < 0) {
            say_failed("start the harness");
            return 125;
        }
    }
    // The other ends of the harness's descriptors must close when it does, not when we do.
    ::close_range(0, static_cast<unsigned>(init_owner_fd - 1), 0);
    const unique_fd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!ended) {
        say_failed("watch the harness");
        return 125;
    }
    lease_watch until(*lease);
    bool rang = false;
    for (;;) {
        int status = 0;
        for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
            if (pid == harness) {
                send(init_owner_fd, namespaces::encode(sandbox_report{sandbox_report::kind::ended, status, 0, {}}));
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
        }
        switch (until.look(rang)) {
        case lease_state::runs:
            break;
        case lease_state::over:
            send(init_owner_fd,
                 namespaces::encode(sandbox_report{sandbox_report::kind::failed, 0, 0, std::string(lease_is_over)}));
            return 137; // nobody waits for the report, and leaving kills all
        case lease_state::unwatched:
            say_failed("watch the lease");
            return 125;
        }
        pollfd waits[] = {
            {init_owner_fd, POLLIN | POLLRDHUP, 0}, {ended.get(), POLLIN, 0}, {until.descriptor(), POLLIN, 0}};
        if (::poll(waits, 3, -1) < 0 && errno != EINTR) {
            return 125;
        }
        if (waits[0].revents != 0) {
            return 137; // the owner is gone or wants us gone; leaving kills all
        }
        rang = waits[2].revents != 0;
        signalfd_siginfo drained{};
        (void)!::read(ended.get(), &drained, sizeof drained); // the loop above asks for every child anyway
    }
}

} // namespace chalk::nest
