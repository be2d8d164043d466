#include "runtimes/namespaces/nest_client.hpp"

#include "runtimes/namespaces/nest/copy.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace chalk::namespaces {

namespace {

constexpr std::chrono::milliseconds helper_deadline{10'000};
/// A sandbox stands in milliseconds; this is for a machine that swaps or is out of something.
constexpr std::chrono::milliseconds sandbox_deadline{30'000};

struct socket_pair {
    unique_fd ours;
    unique_fd theirs;
};

result<socket_pair> make_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return sandbox_failure(fmt::format("cannot make a socket: {}", std::strerror(errno)));
    }
    return socket_pair{unique_fd(ends[0]), unique_fd(ends[1])};
}

result<void> send_packet(int socket, const std::string& bytes, const std::vector<int>& descriptors) {
    if (bytes.size() > max_packet || descriptors.size() > max_descriptors) {
        return sandbox_failure("a sandbox with so many masks or descriptors does not fit into one message");
    }
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_descriptors)] = {};
    iovec data{const_cast<char*>(bytes.data()), bytes.size()}; // sendmsg only reads
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
        std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
    }
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent != static_cast<ssize_t>(bytes.size())) {
        return sandbox_failure(fmt::format("the helper that makes sandboxes is gone: {}", std::strerror(errno)));
    }
    return {};
}

} // namespace

received_report receive_report(int socket, std::optional<std::chrono::milliseconds> deadline) {
    if (deadline) {
        pollfd wait{socket, POLLIN, 0};
        const auto end = std::chrono::steady_clock::now() + *deadline;
        for (;;) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            const int ready = left.count() > 0 ? ::poll(&wait, 1, static_cast<int>(left.count())) : 0;
            if (ready == 0) {
                return {std::nullopt, true};
            }
            if (ready > 0 || errno != EINTR) {
                break;
            }
        }
    }
    char buffer[16 * 1024];
    ssize_t size = 0;
    do {
        size = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return {std::nullopt, true};
    }
    if (size <= 0) {
        return {};
    }
    return {decode_sandbox_report({buffer, static_cast<std::size_t>(size)}), false};
}

result<std::unique_ptr<nest_client>> nest_client::start(const std::filesystem::path& program, const nest_orders& orders,
                                                        int seccomp_program, const lease_page& lease) {
    auto pair = make_pair();
    if (!pair) {
        return pair.error();
    }
    constexpr int child_end = 3;
    process::command command;
    command.executable = program.string();
    command.arguments = {"nest", std::to_string(child_end), std::string(nest::title_room, ' ')};
    // Symbols are bound once here, and not in each of its copies. One heap for their few threads costs fewer pages than
    // it saves waiting, and most copies end before they need give a page back (jemalloc).
    command.environment = {"LD_BIND_NOW=1", "MALLOC_CONF=narenas:1,dirty_decay_ms:60000"};
#if defined(__SANITIZE_ADDRESS__)
    // For its copies, as for harnesses that are executed.
    command.environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
#endif
    command.descriptors = {{pair->theirs.get(), child_end}, {STDERR_FILENO, STDERR_FILENO}};
    // It ends when its socket closes, which the kernel does for us however we die. A parent-death signal would fire
    // when the calling thread ends, which a worker thread of the pool may do long before the process.
    command.parent_death_signal = std::nullopt;
    auto child = process::spawn(command);
    if (!child) {
        return child.error();
    }
    std::unique_ptr<nest_client> client(new nest_client); // its constructor is private: make_unique cannot
    client->socket_ = std::move(pair->ours);
    client->pid_ = child->pid;
    client->pidfd_ = std::move(child->pidfd);
    pair->theirs.reset();
    if (auto sent = send_packet(client->socket_.get(), encode(orders), {seccomp_program, lease.page(), lease.bell()});
        !sent) {
        return sent.error();
    }
    const auto answer = receive_report(client->socket_.get(), helper_deadline).report;
    if (!answer || answer->what != sandbox_report::kind::ready) {
        return sandbox_failure(
            fmt::format("the helper that makes sandboxes does not start: {}", answer ? answer->text : "no answer"));
    }
    return client;
}

nest_client::~nest_client() {
    socket_.reset();
    if (pidfd_) {
        pollfd ended{pidfd_.get(), POLLIN, 0};
        if (::poll(&ended, 1, static_cast<int>(helper_deadline.count())) == 0) {
            ::kill(pid_, SIGKILL); // its sandboxes' parent-death signals do the rest
        }
        siginfo_t info{};
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED);
    }
}

result<nest_client::started> nest_client::make_sandbox(const sandbox_orders& orders,
                                                       const std::vector<int>& descriptors) {
    auto pair = make_pair();
    if (!pair) {
        return pair.error();
    }
    std::vector<int> all = {pair->theirs.get()};
    all.insert(all.end(), descriptors.begin(), descriptors.end());
    {
        const std::lock_guard lock(sending_);
        if (auto sent = send_packet(socket_.get(), encode(orders), all); !sent) {
            return sent.error();
        }
    }
    pair->theirs.reset();
    pid_t init = -1;
    received_report answer = receive_report(pair->ours.get(), sandbox_deadline);
    if (answer.report && answer.report->what == sandbox_report::kind::cloned) {
        init = answer.report->pid;
        answer = receive_report(pair->ours.get(), sandbox_deadline);
    }
    if (answer.report && answer.report->what == sandbox_report::kind::ready) {
        return started{std::move(pair->ours), init, answer.report->status};
    }
    if (answer.report) {
        return sandbox_failure(answer.report->text.empty()
                                   ? fmt::format("the sandbox ended while it was made (report {}, status {})",
                                                 static_cast<unsigned>(answer.report->what), answer.report->status)
                                   : answer.report->text);
    }
    return sandbox_failure(answer.empty ? "the sandbox does not stand after 30 s"
                                        : "the helper that makes sandboxes died");
}

} // namespace chalk::namespaces
