#include "runtimes/process/spawn.hpp"

#include "protocol/core/all_signals_blocked.hpp"
#include "runtimes/process/child_setup.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::process {
namespace {

/// The stack that a child of this thread runs on until exec; one per thread, since the thread waits for exec. The
/// lowest page is a guard: an overflow ends the child, not our heap.
class child_stack {
  public:
    child_stack() {
        void* memory =
            ::mmap(nullptr, guard + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (memory == MAP_FAILED) {
            return;
        }
        base_ = static_cast<char*>(memory);
        ::mprotect(base_, guard, PROT_NONE);
    }
    child_stack(const child_stack&) = delete;
    child_stack& operator=(const child_stack&) = delete;
    ~child_stack() {
        if (base_ != nullptr) {
            ::munmap(base_, guard + size);
        }
    }

    /// Stacks grow down. Null when there was no memory.
    [[nodiscard]] char* top() const noexcept { return base_ == nullptr ? nullptr : base_ + guard + size; }

  private:
    static constexpr std::size_t guard = 4096U * 4U; // a multiple of every page size up to 16 KiB
    static constexpr std::size_t size = 64U * 1024U;
    char* base_ = nullptr;
};

;

std::string_view search_path(const std::vector<std::string>& environment) {
    for (const auto& variable : environment) {
        if (variable.starts_with("PATH=")) {
            return std::string_view(variable).substr(5);
        }
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

bool is_program(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

result<std::string> resolve(const command& what) {
    const auto& name = what.executable;
    if (what.executable_fd || name.starts_with('/')) {
        return name;
    }
    if (name.empty() || name.find('/') != std::string::npos) {
        return sandbox_failure(fmt::format("cannot start '{}': give an absolute path or a bare name", name));
    }
    auto folders = search_path(what.environment);
    while (!folders.empty()) {
        const auto end = std::min(folders.find(':'), folders.size());
        if (end > 0) { // an empty element would mean the working directory, which others may write to
            auto candidate = fmt::format("{}/{}", folders.substr(0, end), name);
            if (is_program(candidate)) {
                return candidate;
            }
        }
        folders.remove_prefix(std::min(end + 1, folders.size()));
    }
    return sandbox_failure(
        fmt::format("cannot start '{}': no such program in PATH ({})", name, search_path(what.environment)));
}

std::vector<char*> pointers(const std::vector<std::string>& strings, const std::string* first = nullptr) {
    std::vector<char*> out;
    out.reserve(strings.size() + 2);
    if (first != nullptr) {
        out.push_back(const_cast<char*>(first->c_str()));
    }
    for (const auto& text : strings) {
        out.push_back(const_cast<char*>(text.c_str()));
    }
    out.push_back(nullptr);
    return out;
}

/// What the child gets as 0, 1 and 2 where the caller named nothing.
result<unique_fd> add_missing_streams(std::vector<inherited_fd>& descriptors) {
    unique_fd null;
    for (int number = 0; number <= 2; ++number) {
        const bool named = std::any_of(descriptors.begin(), descriptors.end(),
                                       [number](const inherited_fd& d) { return d.child == number; });
        if (named) {
            continue;
        }
        if (!null) {
            null.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
            if (!null) {
                return sandbox_failure(fmt::format("cannot open /dev/null: {}", std::strerror(errno)));
            }
        }
        descriptors.push_back({null.get(), number});
    }
    return null;
}

/// Children that nobody else may reap. The mutex is held from before clone until the pid is in the set, so that a
/// reaper never sees a child of ours that it cannot know.
struct own_children {
    std::mutex mutex;
    std::unordered_set<pid_t> pids;
};

own_children& own() {
    static own_children instance;
    return instance;
}

/// nullopt: it has not ended, which only who asks with WNOHANG (`how`) or has made the descriptor non-blocking is told.
/// With a status `pid` may be anyone's from here on.
std::optional<exit_status> reap(int pidfd, pid_t pid, int how) {
    siginfo_t info{};
    int error = 0;
    do {
        error = ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | how) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (error == EAGAIN || (error == 0 && info.si_pid == 0)) {
        return std::nullopt;
    }
    own().pids.erase(pid);
    if (error != 0) {
        return exit_status{exit_status::lost, 0}; // somebody else reaped it
    }
    return info.si_code == CLD_EXITED ? exit_status{info.si_status, 0} : exit_status{0, info.si_status};
}

/// Keeps itself alive until the child has ended.
struct end_of_child : std::enable_shared_from_this<end_of_child> {
    end_of_child(boost::asio::io_context& io, child c, std::function<void(exit_status)> then)
        : ended(io, c.pidfd.release()), pid(c.pid), done(std::move(then)) {}

    /// Asio may say "readable" of what is not: an event of an earlier descriptor, closed while it was on its way, is
    /// taken for one of the descriptor that came into its place.
    void wait() {
        ended.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                             std::optional<exit_status> status;
                             {
                                 const std::lock_guard unregistering(own().mutex);
                                 status = reap(self->ended.native_handle(), self->pid, WNOHANG);
                             }
                             if (status || failed) {
                                 self->done(status.value_or(exit_status{exit_status::lost, 0}));
                             } else {
                                 self->wait();
                             }
                         });
    }

    boost::asio::posix::stream_descriptor ended;
    pid_t pid;
    std::function<void(exit_status)> done;
};

} // namespace

result<child> spawn(const command& what) {
    auto path = resolve(what);
    if (!path) {
        return path.error();
    }
    auto descriptors = what.descriptors;
    auto null = add_missing_streams(descriptors);
    if (!null) {
        return null.error();
    }
    std::vector<int> moved(descriptors.size(), -1); // the child's working memory: it must not allocate
    const auto argv = pointers(what.arguments, &what.executable);
    const auto envp = pointers(what.environment);

    child_setup setup;
    setup.path = path->c_str();
    setup.argv = argv.data();
    setup.envp = envp.data();
    setup.executable_fd = what.executable_fd.value_or(-1);
    setup.working_directory = what.working_directory.empty() ? nullptr : what.working_directory.c_str();
    setup.descriptors = descriptors.data();
    setup.moved = moved.data();
    setup.descriptor_count = descriptors.size();
    setup.limits = what.limits.data();
    setup.limit_count = what.limits.size();
    setup.cgroup_procs = what.cgroup_procs.data();
    setup.cgroup_count = what.cgroup_procs.size();
    setup.become = what.become ? &*what.become : nullptr;
    setup.new_session = what.new_session;
    setup.parent_death_signal = what.parent_death_signal.value_or(0);
    setup.parent = ::getpid();

    thread_local child_stack stack;
    if (stack.top() == nullptr) {
        return sandbox_failure(fmt::format("cannot start {}: no memory for the child's stack", *path));
    }
    int pidfd = -1;
    pid_t pid = -1;
    int error = 0;
    const std::lock_guard registering(own().mutex);
    {
        // Between clone and exec the child shares our memory: a handler of ours must run in neither.
        const all_signals_blocked guard;
        pid = ::clone(run_child, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &setup, &pidfd);
        error = errno;
    }
    if (pid < 0) {
        return sandbox_failure(fmt::format("cannot start {}: clone: {}", *path, std::strerror(error)));
    }
    child started{pid, unique_fd(pidfd)};
    if (setup.failed_step != child_step::none) {
        static_cast<void>(reap(pidfd, pid, 0)); // it only ever said why it failed
        return sandbox_failure(fmt::format("cannot start {}: {}: {}", *path, describe(setup.failed_step, what),
                                           std::strerror(setup.error)));
    }
    own().pids.insert(pid);
    return started;
}

own_children_lock::own_children_lock() {
    own().mutex.lock();
}

own_children_lock::~own_children_lock() {
    own().mutex.unlock();
}

bool own_children_lock::started_here(pid_t pid) const noexcept {
    return own().pids.contains(pid);
}

void async_wait(boost::asio::io_context& io, child c, std::function<void(exit_status)> done) {
    std::make_shared<end_of_child>(io, std::move(c), std::move(done))->wait();
}

std::string describe(const exit_status& status) {
    if (status.code == exit_status::lost) {
        return "ended with an unknown status";
    }
    if (status.signal == 0) {
        return fmt::format("exit code {}", status.code);
    }
    const char* name = ::sigabbrev_np(status.signal);
    return name == nullptr ? fmt::format("killed by signal {}", status.signal)
                           : fmt::format("killed by signal {} (SIG{})", status.signal, name);
}

result<pipe_ends> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return sandbox_failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    return pipe_ends{unique_fd(ends[0]), unique_fd(ends[1])};
}

} // namespace chalk::process
