#include "runtimes/confinement/firewall/reach.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::firewall {

namespace {

struct socket_address {
    sockaddr_storage storage{};
    socklen_t size = 0;
    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

socket_address address_of(const target& to) {
    socket_address made;
    in_addr v4{};
    if (::inet_pton(AF_INET, to.address.c_str(), &v4) == 1) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(to.port);
        in.sin_addr = v4;
        std::memcpy(&made.storage, &in, sizeof in);
        made.size = sizeof in;
    } else {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(to.port);
        ::inet_pton(AF_INET6, to.address.c_str(), &in.sin6_addr);
        std::memcpy(&made.storage, &in, sizeof in);
        made.size = sizeof in;
    }
    return made;
}

/// Asks for the root's name servers (RFC 1035, 4.1).
constexpr unsigned char question[] = {0x43, 0x4b, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1};

struct outcome {
    std::int32_t answered = 0;
    std::int32_t error = 0;
};

struct trial {
    unique_fd socket;
    outcome so_far{0, ETIMEDOUT};
    bool open = true;

    void end(bool answered, int error) {
        so_far = {answered ? 1 : 0, error};
        open = false;
        socket.reset();
    }
};

void begin(trial& one, const target& to, const socket_address& where) {
    const int type = (to.udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
    one.socket.reset(::socket(where.get()->sa_family, type, 0));
    if (!one.socket) {
        one.end(false, errno);
        return;
    }
    if (::connect(one.socket.get(), where.get(), where.size) != 0) {
        if (errno != EINPROGRESS) {
            one.end(errno == ECONNREFUSED, errno);
            return;
        }
    } else if (!to.udp) {
        one.end(true, 0);
        return;
    }
    if (to.udp && ::send(one.socket.get(), question, sizeof question, 0) < 0) {
        one.end(errno == ECONNREFUSED, errno);
    }
}

void look(trial& one, const target& to) {
    int error = 0;
    socklen_t size = sizeof error;
    if (to.udp) {
        char answer[512];
        error = ::recv(one.socket.get(), answer, sizeof answer, 0) >= 0 ? 0 : errno;
        if (error == EAGAIN) {
            return;
        }
    } else if (::getsockopt(one.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    one.end(error == 0 || error == ECONNREFUSED, error);
}

std::vector<outcome> try_all(const std::vector<target>& targets, milliseconds patience) {
    std::vector<trial> trials(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
        begin(trials[i], targets[i], address_of(targets[i]));
    }
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        std::vector<pollfd> waits;
        std::vector<std::size_t> whose;
        for (std::size_t i = 0; i < trials.size(); ++i) {
            if (trials[i].open) {
                waits.push_back({trials[i].socket.get(), static_cast<short>(targets[i].udp ? POLLIN : POLLOUT), 0});
                whose.push_back(i);
            }
        }
        const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (waits.empty() || left <= 0) {
            break;
        }
        ::poll(waits.data(), waits.size(), static_cast<int>(left));
        for (std::size_t i = 0; i < waits.size(); ++i) {
            if (waits[i].revents != 0) {
                look(trials[whose[i]], targets[whose[i]]);
            }
        }
    }
    std::vector<outcome> all;
    for (const trial& one : trials) {
        all.push_back(one.so_far);
    }
    return all;
}

/// Raw calls: this may be a copy of a process with threads, to which glibc's would speak.
bool become(uid_t user) {
    return user == 0 ||
           ((::syscall(SYS_setgroups, 0, nullptr) == 0 || errno == EPERM) &&
            ::syscall(SYS_setresgid, user, user, user) == 0 && ::syscall(SYS_setresuid, user, user, user) == 0);
}

} // namespace

std::string target::str() const {
    const bool v6 = address.find(':') != std::string::npos;
    return fmt::format("{} {}{}{}:{}", udp ? "udp" : "tcp", v6 ? "[" : "", address, v6 ? "]" : "", port);
}

result<std::vector<attempt>> try_to_reach(const std::vector<target>& targets, uid_t user, milliseconds patience) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return harness_failure(fmt::format("cannot make a pipe: {}", std::generic_category().message(errno)));
    }
    const unique_fd read_end(ends[0]);
    unique_fd write_end(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        if (!become(user)) {
            ::_exit(1);
        }
        const auto all = try_all(targets, patience);
        const auto size = all.size() * sizeof(outcome);
        ::_exit(::write(write_end.get(), all.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
    }
    write_end.reset();
    std::vector<outcome> all(targets.size());
    std::size_t got = 0;
    const std::size_t wanted = all.size() * sizeof(outcome);
    while (child > 0 && got < wanted) {
        const auto n = ::read(read_end.get(), reinterpret_cast<char*>(all.data()) + got, wanted - got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        got += static_cast<std::size_t>(n);
    }
    if (child > 0) {
        ::waitpid(child, nullptr, 0);
    }
    if (child < 0 || got < wanted) {
        return harness_failure(fmt::format("cannot try addresses as user {}", user));
    }
    std::vector<attempt> made;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        made.push_back({targets[i], all[i].answered != 0, all[i].error});
    }
    return made;
}

bool has_route(const target& to) {
    const auto where = address_of(to);
    const unique_fd socket(::socket(where.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return socket && ::connect(socket.get(), where.get(), where.size) == 0;
}

const std::vector<target>& outside_targets() {
    static const std::vector<target> all = {
        {"1.1.1.1", 443, false},
        {"8.8.8.8", 53, true},
        {"9.9.9.9", 53, false},
        {"169.254.169.254", 80, false}, // clouds answer there with credentials
        {"2606:4700:4700::1111", 443, false},
        {"2001:4860:4860::8888", 53, true},
    };
    return all;
}

} // namespace chalk::firewall
