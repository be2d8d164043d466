#include "protocol/cluster/socket_bio.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>

#include <sys/socket.h>

namespace chalk::cluster {

namespace {

/// The socket's number is the pointer itself. What it points to is never looked at.
int socket_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
}

bool try_again() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int send_some(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    const auto sent = ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && try_again()) {
        BIO_set_retry_write(bio);
    }
    return static_cast<int>(sent);
}

int receive_some(BIO* bio, char* data, int size) {
    BIO_clear_retry_flags(bio);
    const auto got = ::recv(socket_of(bio), data, static_cast<std::size_t>(size), MSG_DONTWAIT);
    if (got < 0 && try_again()) {
        BIO_set_retry_read(bio);
    } else if (got == 0) {
        ::BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return static_cast<int>(got);
}

long control(BIO* bio, int command, long, void*) {
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return ::BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
        return 0;
    }
}

BIO_METHOD* make_method() {
    BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    if (made != nullptr) {
        ::BIO_meth_set_write(made, send_some);
        ::BIO_meth_set_read(made, receive_some);
        ::BIO_meth_set_ctrl(made, control);
    }
    return made;
}

} // namespace

BIO* new_socket_bio(int socket) {
    // Kept for good: sessions of other threads may use it to the last.
    static BIO_METHOD* const method = make_method();
    BIO* made = method == nullptr ? nullptr : ::BIO_new(method);
    if (made != nullptr) {
        ::BIO_set_data(made, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
        ::BIO_set_init(made, 1);
    }
    return made;
}

} // namespace chalk::cluster
