#include "runtimes/namespaces/nest/packets.hpp"

#include "runtimes/namespaces/orders.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace chalk::nest {

std::optional<packet> receive(int socket) {
    packet got;
    got.bytes.resize(namespaces::max_packet);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * namespaces::max_descriptors)];
    iovec data{got.bytes.data(), got.bytes.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t size = 0;
    do {
        size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size <= 0) {
        return std::nullopt;
    }
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
                got.descriptors.emplace_back(fd);
            }
        }
    }
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return std::nullopt;
    }
    got.bytes.resize(static_cast<std::size_t>(size));
    return got;
}

bool send(int socket, std::string_view bytes) {
    ssize_t size = 0;
    do {
        size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (size < 0 && errno == EINTR);
    return size == static_cast<ssize_t>(bytes.size());
}

std::string because(std::string_view what, int error) {
    std::string text(what);
    text += ": ";
    text += std::strerror(error);
    return text;
}

} // namespace chalk::nest
