#include "tests/support/peer_network.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace chalk::test {

namespace {

void run(const std::string& command) {
    if (std::system((command + " >/dev/null").c_str()) != 0) {
        throw std::runtime_error("failed: " + command);
    }
}

unique_fd bind_everywhere(int type, std::uint16_t port) {
    unique_fd made(::socket(AF_INET6, type | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int off = 0;
    ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    if (!made || ::bind(made.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
        throw std::runtime_error("cannot bind port " + std::to_string(port) + ": " + std::strerror(errno));
    }
    return made;
}

void new_network() {
    if (::unshare(CLONE_NEWNET) != 0) {
        throw std::runtime_error(std::string("no network namespace: ") + std::strerror(errno));
    }
    run("ip link set lo up");
}

/// Until its owner closes `until`.
void serve(int ready, int until) {
    new_network();
    char byte = 'n';
    (void)!::write(ready, &byte, 1);
    if (::read(until, &byte, 1) != 1) { // the veth is here
        return;
    }
    run("ip addr add 192.0.2.2/24 dev v1 && ip -6 addr add 2001:db8::2/64 dev v1 nodad && ip link set v1 up");
    for (const char* outside :
         {"1.1.1.1", "8.8.8.8", "9.9.9.9", "169.254.169.254", "10.1.2.3", "172.16.9.9", "192.168.9.9", "203.0.113.9"}) {
        run(std::string("ip addr add ") + outside + "/32 dev lo");
    }
    for (const char* outside : {"2606:4700:4700::1111", "2001:4860:4860::8888", "fd77::1", "2001:db8:1::9"}) {
        run(std::string("ip -6 addr add ") + outside + "/128 dev lo nodad");
    }
    std::vector<unique_fd> listeners;
    for (const std::uint16_t port : {std::uint16_t{53}, std::uint16_t{80}, std::uint16_t{443}, std::uint16_t{7000}}) {
        listeners.push_back(listen_everywhere(port));
    }
    const auto names = bind_everywhere(SOCK_DGRAM, 53);
    (void)!::write(ready, &byte, 1);
    for (;;) {
        pollfd waits[] = {{names.get(), POLLIN, 0}, {until, POLLIN, 0}};
        ::poll(waits, 2, -1);
        if (waits[1].revents != 0) {
            return;
        }
        // The answer must come from the address that was asked, which a socket bound to all of them has to be told.
        char text[512];
        char control[256];
        sockaddr_in6 from{};
        iovec part{text, sizeof text};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const int on = 1;
        ::setsockopt(names.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
        const auto size = ::recvmsg(names.get(), &message, 0);
        if (size > 0) {
            part.iov_len = static_cast<std::size_t>(size);
            ::sendmsg(names.get(), &message, 0);
        }
    }
}

void in_thread(const std::function<void()>& body) {
    std::exception_ptr thrown;
    std::thread([&] {
        try {
            body();
        } catch (...) {
            thrown = std::current_exception();
        }
    }).join();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
}

class peer {
  public:
    peer() {
        int ready[2];
        int until[2];
        if (::pipe2(ready, O_CLOEXEC) != 0 || ::pipe2(until, O_CLOEXEC) != 0) {
            throw std::runtime_error("no pipe");
        }
        ready_.reset(ready[0]);
        until_.reset(until[1]);
        const unique_fd ready_write(ready[1]);
        const unique_fd until_read(until[0]);
        pid_ = ::fork();
        if (pid_ == 0) {
            until_.reset();
            try {
                serve(ready_write.get(), until_read.get());
            } catch (const std::exception& why) {
                (void)!::write(STDERR_FILENO, why.what(), std::strlen(why.what()));
            }
            ::_exit(0);
        }
    }
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;
    ~peer() {
        until_.reset();
        ::waitpid(pid_, nullptr, 0);
    }
    void wait() {
        char byte = 0;
        if (::read(ready_.get(), &byte, 1) != 1) {
            throw std::runtime_error("the peer ended");
        }
    }
    void go() { (void)!::write(until_.get(), "g", 1); }
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
    unique_fd ready_;
    unique_fd until_;
};

} // namespace

std::string why_no_network() {
    if (::geteuid() != 0) {
        return "network namespaces of this test's own need root";
    }
    return std::system("ip -V >/dev/null 2>&1") == 0 ? "" : "there is no ip: install iproute2";
}

unique_fd listen_everywhere(std::uint16_t port) {
    auto made = bind_everywhere(SOCK_STREAM, port);
    if (::listen(made.get(), 128) != 0) {
        throw std::runtime_error("cannot listen");
    }
    return made;
}

void in_network_with_peer(const std::function<void()>& body) {
    in_thread([&] {
        peer other;
        other.wait();
        new_network();
        run("ip link add v0 type veth peer name v1 netns " + std::to_string(other.pid()) +
            " && ip addr add 192.0.2.1/24 dev v0 && ip -6 addr add 2001:db8::1/64 dev v0 nodad && ip link set v0 up");
        other.go();
        other.wait();
        run("ip route add default via 192.0.2.2 && ip -6 route add default via 2001:db8::2");
        body();
    });
}

void in_lonely_network(const std::function<void()>& body) {
    in_thread([&] {
        new_network();
        body();
    });
}

} // namespace chalk::test
