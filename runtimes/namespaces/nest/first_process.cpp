#include "runtimes/namespaces/nest/first_process.hpp"

#include "runtimes/confinement/firewall/netlink.hpp"
#include "runtimes/namespaces/nest/init.hpp"
#include "runtimes/namespaces/nest/packets.hpp"
#include "runtimes/namespaces/nest/pointers.hpp"
#include "runtimes/namespaces/nest/privileges.hpp"
#include "runtimes/namespaces/nest/trees.hpp"
#include "runtimes/namespaces/nest/workshop.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::nest {

using namespaces::sandbox_report;

namespace {

[[noreturn]] void give_up(const first_process& what, std::string_view why) {
    send(what.socket, namespaces::encode(sandbox_report{sandbox_report::kind::failed, 0, 0, std::string(why)}));
    ::_exit(125);
}

void require(const first_process& what, bool fine, std::string_view step) {
    if (!fine) {
        give_up(what, because(step, errno));
    }
}

bool bring_loopback_up() {
    const unique_fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return any && ::ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

/// Puts the harness's descriptors at 2, 3, ... and init's at their own places. Everything moves out of the way first,
/// since a target may be another's source.
bool arrange_descriptors(const first_process& what, const unique_fd& nothing, int& program) {
    constexpr int clear = 100;
    const auto up = [](int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, clear); };
    std::vector<int> moved;
    for (const int fd : what.inherited) {
        moved.push_back(up(fd));
    }
    const int owner = up(what.socket);
    program = up(what.program);
    // A copy has the page in its memory.
    const int lease = what.copies() ? owner : up(what.lease_page);
    const int last = what.copies() ? init_owner_fd : init_lease_fd;
    const int null = up(nothing.get());
    if (owner < 0 || program < 0 || lease < 0 || null < 0 ||
        std::ranges::any_of(moved, [](int fd) { return fd < 0; })) {
        return false;
    }
    bool fine = ::dup2(null, 0) == 0 && ::dup2(moved.empty() ? null : moved.front(), 1) == 1;
    for (std::size_t i = 0; i < moved.size(); ++i) {
        const int target = static_cast<int>(i) + 2;
        fine = fine && ::dup2(moved[i], target) == target;
    }
    const int first_free = static_cast<int>(moved.size()) + 2;
    return fine && ::close_range(static_cast<unsigned>(first_free), static_cast<unsigned>(init_owner_fd - 1), 0) == 0 &&
           ::dup2(owner, init_owner_fd) == init_owner_fd &&
           (what.copies() || ::dup2(lease, init_lease_fd) == init_lease_fd) &&
           ::close_range(static_cast<unsigned>(clear), ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
           ::close_range(static_cast<unsigned>(last + 1), static_cast<unsigned>(clear - 1), 0) == 0;
}

} // namespace

void run(first_process what) {
    char byte = 0;
    if (::read(what.go, &byte, 1) != 1) {
        ::_exit(125); // the helper could not map our ids, has said so, or is gone
    }
    const unique_fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!what.owner.privileged) {
        // Still as the user who started us: the way to these folders is open to that user, not to the ids we get.
        for (std::size_t i = 0; i < what.trees.size(); ++i) {
            if (const auto failed = detach(what.orders.trees[i], -1, what.trees[i])) {
                give_up(what, *failed);
            }
        }
    }
    require(what, ::setresgid(0, 0, 0) == 0 && ::setgroups(0, nullptr) == 0 && ::setresuid(0, 0, 0) == 0,
            "become root inside");
    // After the change of uid, which clears it. The helper is one thread, so this means: when the helper ends.
    require(what, ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "tie the sandbox to its helper");
    for (const int group : what.joined) {
        require(what, ::write(group, "0", 1) == 1, "join a cgroup");
    }
    // Only now: this namespace's root is the group that we are in, so nothing inside sees the host's names for it.
    require(what, ::unshare(CLONE_NEWCGROUP) == 0, "make a cgroup namespace");
    if (what.orders.process_limit != 0) {
        const rlimit limit{what.orders.process_limit, what.orders.process_limit};
        require(what, ::setrlimit(RLIMIT_NPROC, &limit) == 0, "limit processes");
    }
    if (const auto failed = build(what.orders, std::move(what.trees))) {
        give_up(what, *failed);
    }
    require(what, ::sethostname(what.orders.hostname.data(), what.orders.hostname.size()) == 0, "set the host name");
    require(what, bring_loopback_up(), "bring the loopback up");
    // Now, since nothing in here will have CAP_NET_ADMIN again: rules that not even root inside can take away. A kernel
    // without nftables is the host's to judge.
    const int firewall = what.orders.firewall.empty() ? 0 : firewall::send_batch(what.orders.firewall);
    ::umask(0022);

    // Whatever runs in here has it from us: process 1 and the harness.
    if (const auto failed = give_up_privileges(what.seccomp); !failed.empty()) {
        give_up(what, because(failed, errno));
    }
    // Here nobody has been started; from here on process 1 watches it.
    if (what.lease.is_over()) {
        give_up(what, lease_is_over);
    }
    int program = -1;
    require(what, arrange_descriptors(what, nothing, program), "arrange descriptors");
    if (!send(init_owner_fd, namespaces::encode(sandbox_report{sandbox_report::kind::ready, firewall, 0, {}}))) {
        ::_exit(125);
    }
    what.socket = init_owner_fd; // where it is from now on
    if (what.copies()) {
        // Before there is a harness: it has the same capabilities, and must never find this process open to it.
        require(what, ::prctl(PR_SET_DUMPABLE, 0) == 0, "close the first process to others");
        const pid_t copy = start_copy(what.orders, what.harness);
        require(what, copy >= 0, "start the harness");
        show_command_line({"chalk-nest", "watch"});
        ::close_range(static_cast<unsigned>(init_owner_fd + 1), ~0U, 0);
        // Executing something smaller here would take as long as a tenth of the sandbox, to save it some hundred KiB.
        ::_exit(run_init(copy, nullptr, nullptr, what.lease));
    }
    const std::vector<char*> argv = pointers(what.orders.argv, {"chalk-nest", "init"});
    const std::vector<char*> environment = pointers(what.orders.environment, {});
    ::fexecve(program, argv.data(), environment.data());
    give_up(what, because("become init", errno));
}

} // namespace chalk::nest
