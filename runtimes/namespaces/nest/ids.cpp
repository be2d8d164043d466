#include "runtimes/namespaces/nest/ids.hpp"

#include "runtimes/namespaces/nest/packets.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::nest {

namespace {

bool write_file(const std::string& path, const std::string& text) {
    const unique_fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// `own`: an id of ours that shall be number `id_count`.
std::optional<std::string> run_mapper(const std::string& program, pid_t pid, const namespaces::nest_orders& orders,
                                      std::optional<std::uint32_t> own = std::nullopt) {
    const std::string target = std::to_string(pid);
    const std::string first = std::to_string(orders.first_id);
    const std::string count = std::to_string(orders.id_count);
    const std::string ours = std::to_string(own.value_or(0));
    const char* argv[] = {program.c_str(), target.c_str(), "0",     first.c_str(), count.c_str(),
                          nullptr,         nullptr,        nullptr, nullptr};
    if (own) {
        argv[5] = count.c_str();
        argv[6] = ours.c_str();
        argv[7] = "1";
    }
    char* const no_environment[] = {nullptr};
    const pid_t child = ::vfork();
    if (child == 0) {
        ::execve(program.c_str(), const_cast<char* const*>(argv), no_environment);
        ::_exit(127);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) {
        return because("start " + program, errno);
    }
    if (status != 0) {
        return program + " refused ids " + first + " to +" + count + " (see /etc/subuid and /etc/subgid)";
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> map_ids(pid_t pid, const namespaces::nest_orders& orders) {
    if (!orders.privileged) {
        if (auto failed = run_mapper(orders.newuidmap, pid, orders)) {
            return failed;
        }
        return run_mapper(orders.newgidmap, pid, orders);
    }
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string map = "0 " + std::to_string(orders.first_id) + " " + std::to_string(orders.id_count);
    if (!write_file(folder + "/uid_map", map) || !write_file(folder + "/gid_map", map)) {
        return because("map user ids", errno);
    }
    return std::nullopt;
}

std::optional<std::string> map_ids_and_own(pid_t pid, const namespaces::nest_orders& orders) {
    if (auto failed = run_mapper(orders.newuidmap, pid, orders, ::geteuid())) {
        return failed;
    }
    return run_mapper(orders.newgidmap, pid, orders, ::getegid());
}

unique_fd make_idmap_namespace(const namespaces::nest_orders& orders) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) {
        return {};
    }
    unique_fd read_end(ready[0]);
    unique_fd write_end(ready[1]);
    const pid_t holder = ::fork();
    if (holder == 0) {
        if (::unshare(CLONE_NEWUSER) == 0) {
            (void)!::write(write_end.get(), "r", 1); // the reader sees end of file when this fails
            ::pause();
        }
        ::_exit(1);
    }
    write_end.reset();
    char answer = 0;
    unique_fd space;
    int error = EPERM;
    if (holder > 0 && ::read(read_end.get(), &answer, 1) == 1) {
        namespaces::nest_orders as_root = orders;
        as_root.privileged = true;
        if (!map_ids(holder, as_root)) {
            space.reset(::open(("/proc/" + std::to_string(holder) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
        }
        error = errno;
    }
    if (holder > 0) {
        ::kill(holder, SIGKILL);
        ::waitpid(holder, nullptr, 0);
    }
    errno = error;
    return space;
}

} // namespace chalk::nest
