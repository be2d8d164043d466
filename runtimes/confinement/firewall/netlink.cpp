#include "runtimes/confinement/firewall/netlink.hpp"

#include "protocol/core/unique_fd.hpp"

#include <cerrno>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace chalk::firewall {

int send_batch(std::string_view batch) noexcept {
    const unique_fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    // The kernel answers before sendto returns; the deadline is for kernels that take it and say nothing.
    const timeval patience{5, 0};
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        ::sendto(socket.get(), batch.data(), batch.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
                 sizeof kernel) != static_cast<ssize_t>(batch.size())) {
        return errno;
    }
    // An error of any message, or the last one's acknowledgement, whichever is first.
    alignas(nlmsghdr) char answer[8192];
    const ssize_t size = ::recv(socket.get(), answer, sizeof answer, 0);
    if (size < 0) {
        return errno == EAGAIN ? ETIMEDOUT : errno;
    }
    const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
    if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr))) || header->nlmsg_type != NLMSG_ERROR) {
        return EPROTO;
    }
    return -reinterpret_cast<const nlmsgerr*>(answer + NLMSG_HDRLEN)->error;
}

} // namespace chalk::firewall
