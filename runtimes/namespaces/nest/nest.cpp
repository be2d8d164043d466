#include "runtimes/namespaces/nest/nest.hpp"

#include "runtimes/namespaces/nest/first_process.hpp"
#include "runtimes/namespaces/nest/ids.hpp"
#include "runtimes/namespaces/nest/lease_view.hpp"
#include "runtimes/namespaces/nest/packets.hpp"
#include "runtimes/namespaces/nest/trees.hpp"

#include <cerrno>
#include <list>
#include <optional>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::nest {

using namespaces::sandbox_orders;
using namespaces::sandbox_report;
using namespaces::tree;

namespace {

struct nested_sandbox {
    pid_t pid = -1;
    unique_fd pidfd;
    unique_fd socket;
};

class helper {
  public:
    explicit helper(harness_entry harness) : harness_(harness) {}
    int run(int owner);

  private:
    std::optional<std::string> prepare(packet first);
    void accept(packet received);
    std::optional<std::string> start(const sandbox_orders& orders, packet& received);
    void look_after(nested_sandbox& one);
    void wake_all();
    void end_all();
    bool watch(int fd, void* tag);

    harness_entry harness_;
    namespaces::nest_orders orders_;
    unique_fd seccomp_;
    unique_fd idmap_space_;
    unique_fd program_;
    unique_fd lease_page_;
    unique_fd lease_bell_;
    std::optional<lease_view> lease_; ///< the sandboxes' first processes inherit it
    unique_fd events_;
    std::list<nested_sandbox> sandboxes_;
};

bool helper::watch(int fd, void* tag) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.ptr = tag;
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

std::optional<std::string> helper::prepare(packet first) {
    auto decoded = namespaces::decode_nest_orders(first.bytes);
    if (!decoded || first.descriptors.size() != 3) {
        return "cannot read the owner's orders";
    }
    orders_ = std::move(*decoded);
    seccomp_ = std::move(first.descriptors[0]);
    lease_page_ = std::move(first.descriptors[1]);
    lease_bell_ = std::move(first.descriptors[2]);
    lease_ = lease_view::map(lease_page_.get());
    if (!lease_ || !watch(lease_bell_.get(), &lease_bell_)) {
        return because("watch the lease", errno);
    }
    program_.reset(::open(orders_.init_program.c_str(), O_RDONLY | O_CLOEXEC));
    if (!program_) {
        return because("open " + orders_.init_program, errno);
    }
    if (!orders_.privileged) {
        return std::nullopt;
    }
    // Root has a mount namespace of its own here, so that what is mounted below is nobody else's, and goes with us.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
        return because("make a mount namespace", errno);
    }
    idmap_space_ = make_idmap_namespace(orders_);
    if (!idmap_space_) {
        return because("make a user namespace with ids from " + std::to_string(orders_.first_id), errno);
    }
    return make_devices(orders_.folder);
}

std::optional<std::string> helper::start(const sandbox_orders& orders, packet& received) {
    const std::size_t expected = 1U + orders.inherited + orders.joined + (orders.into_cgroup ? 1U : 0U);
    if (received.descriptors.size() != expected) {
        return "the orders name other descriptors than came with them";
    }
    first_process child{orders_,
                        orders,
                        received.descriptors[0].get(),
                        seccomp_.get(),
                        program_.get(),
                        -1,
                        lease_page_.get(),
                        *lease_,
                        harness_,
                        {},
                        {},
                        {}};
    for (std::size_t i = 1; i <= orders.inherited; ++i) {
        child.inherited.push_back(received.descriptors[i].get());
    }
    for (std::size_t i = 1U + orders.inherited; i < 1U + orders.inherited + orders.joined; ++i) {
        child.joined.push_back(received.descriptors[i].get());
    }
    child.trees.resize(orders.trees.size());
    if (orders_.privileged) {
        for (std::size_t i = 0; i < orders.trees.size(); ++i) {
            tree what = orders.trees[i];
            if ((what.flags & tree::devices) != 0) {
                what.source = orders_.folder;
            }
            if (auto failed = detach(what, idmap_space_.get(), child.trees[i])) {
                return failed;
            }
        }
    }
    int go[2];
    if (::pipe2(go, O_CLOEXEC) != 0) {
        return because("make a pipe", errno);
    }
    const unique_fd go_read(go[0]);
    const unique_fd go_write(go[1]);
    child.go = go_read.get();

    int pidfd = -1;
    clone_args args{};
    args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_PIDFD;
    args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    args.exit_signal = SIGCHLD;
    if (orders.into_cgroup) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = static_cast<std::uint64_t>(received.descriptors.back().get());
    }
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
    if (pid == 0) {
        ::close(go[1]);
        chalk::nest::run(std::move(child));
    }
    if (pid < 0) {
        return because("make namespaces (clone3)", errno);
    }
    sandboxes_.push_front({pid, unique_fd(pidfd), std::move(received.descriptors[0])});
    nested_sandbox& added = sandboxes_.front();
    std::optional<std::string> failed = map_ids(pid, orders_);
    if (!failed && (!watch(pidfd, &added) || !watch(added.socket.get(), &added))) {
        failed = because("watch the sandbox", errno);
    }
    if (failed) {
        ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, pidfd, nullptr);
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        received.descriptors[0] = std::move(added.socket);
        sandboxes_.pop_front();
        return failed;
    }
    send(added.socket.get(), namespaces::encode(sandbox_report{sandbox_report::kind::cloned, 0, pid, {}}));
    (void)!::write(go[1], "g", 1); // a child that died reads nothing, and its pidfd says so
    return std::nullopt;
}

void helper::accept(packet received) {
    if (received.descriptors.empty()) {
        return; // nobody to answer
    }
    const auto orders = namespaces::decode_sandbox_orders(received.bytes);
    const auto failed = orders ? start(*orders, received) : std::optional<std::string>("cannot read the orders");
    if (failed) {
        send(received.descriptors[0].get(),
             namespaces::encode(sandbox_report{sandbox_report::kind::failed, 0, 0, *failed}));
    }
}

/// Its first process ended, or its owner wants it gone.
void helper::look_after(nested_sandbox& one) {
    siginfo_t info{};
    const int rc =
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(one.pidfd.get()), &info, WEXITED | WNOHANG);
    if (rc == 0 && info.si_pid == 0) {
        ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, one.socket.get(), nullptr);
        ::kill(one.pid, SIGKILL);
        return;
    }
    // By hand: a sandbox that is being made right now holds copies of both descriptors, and so closing ours would leave
    // them in the set, pointing at what is gone.
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, one.pidfd.get(), nullptr);
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, one.socket.get(), nullptr);
    // The kernel lets a namespace's first process be reaped only when all others are gone.
    send(one.socket.get(), namespaces::encode(sandbox_report{sandbox_report::kind::gone, info.si_status, one.pid, {}}));
    sandboxes_.remove_if([&](const nested_sandbox& other) { return &other == &one; });
}

/// Their lease ends earlier than they may know. Process 1 waits for this signal as for its children's ends, and looks
/// at the lease whenever it wakes; one that does not wait yet looks before it does.
void helper::wake_all() {
    std::uint64_t rings = 0;
    (void)!::read(lease_bell_.get(), &rings, sizeof rings);
    for (const nested_sandbox& one : sandboxes_) {
        ::kill(one.pid, SIGCHLD);
    }
}

/// Folders only: files in them are a cgroup's own, or not ours.
void remove_folders(const std::string& path) {
    if (DIR* listing = ::opendir(path.c_str())) {
        while (const dirent* entry = ::readdir(listing)) {
            const std::string_view name = entry->d_name;
            if (entry->d_type == DT_DIR && name != "." && name != "..") {
                remove_folders(path + "/" + entry->d_name);
            }
        }
        ::closedir(listing);
    }
    ::rmdir(path.c_str());
}

void helper::end_all() {
    for (const nested_sandbox& one : sandboxes_) {
        ::kill(one.pid, SIGKILL);
    }
    for (const nested_sandbox& one : sandboxes_) {
        ::waitpid(one.pid, nullptr, 0);
    }
    if (orders_.privileged) {
        ::umount2(orders_.folder.c_str(), MNT_DETACH);
    }
    for (const std::string& folder : orders_.remove_at_end) {
        remove_folders(folder);
        // The folder of all owners goes with the last of them; others' keep it.
        ::rmdir(folder.substr(0, folder.rfind('/')).c_str());
    }
}

int helper::run(int owner) {
    events_.reset(::epoll_create1(EPOLL_CLOEXEC));
    auto first = receive(owner);
    if (!first) {
        return 1;
    }
    const auto failed = prepare(std::move(*first));
    send(owner, namespaces::encode(sandbox_report{failed ? sandbox_report::kind::failed : sandbox_report::kind::ready,
                                                  0, ::getpid(), failed.value_or("")}));
    if (failed || !events_ || !watch(owner, nullptr)) {
        end_all();
        return 1;
    }
    for (;;) {
        // One at a time: what one event leads to may end what another of the same batch points at.
        epoll_event event{};
        if (::epoll_wait(events_.get(), &event, 1, -1) != 1) {
            continue; // a signal
        }
        if (event.data.ptr == &lease_bell_) {
            wake_all();
        } else if (event.data.ptr != nullptr) {
            look_after(*static_cast<nested_sandbox*>(event.data.ptr));
        } else if (auto received = receive(owner)) {
            accept(std::move(*received));
        } else {
            end_all();
            return 0;
        }
    }
}

} // namespace

int run_nest(int owner, harness_entry harness) {
    // What is typed at the terminal is for chalk, which ends us in order.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        ::signal(signal, SIG_IGN);
    }
    return helper(harness).run(owner);
}

} // namespace chalk::nest
