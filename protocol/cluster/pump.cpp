#include "protocol/cluster/pump.hpp"

#include <boost/asio/post.hpp>

#include <cerrno>

#include <sys/socket.h>

namespace chalk::cluster {

namespace {

using boost::system::error_code;
using ready_for = boost::asio::socket_base;

/// Chunks a turn, so that one busy connection does not keep the thread from the others.
constexpr int most_chunks_a_turn = 16;

bool not_now() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

} // namespace

void pump::start() {
    // Errors are watched besides: with a full chunk nothing is read, and a cut would not be seen. Urgent data comes
    // here too; nobody of ours sends any.
    remote_.socket().async_wait(ready_for::wait_error, [self = shared_from_this()](const error_code& stopped) {
        if (!stopped) {
            self->cut();
        }
    });
    local_.async_wait(ready_for::wait_error, [self = shared_from_this()](const error_code& stopped) {
        if (!stopped && !self->over_) {
            self->taker_gone();
            self->go_on();
        }
    });
    go_on();
}

void pump::go_on() {
    for (int turn = 0; turn < most_chunks_a_turn && !over_; ++turn) {
        lacks_ = {};
        bool moved = read_local();
        moved = write_remote() || moved;
        moved = (!over_ && read_remote()) || moved;
        moved = (!over_ && write_local()) || moved;
        if (!over_ && told_remote_ && (told_local_ || no_taker_)) {
            finish();
        }
        if (!moved && !over_) {
            wait_for_what_lacks();
            return;
        }
    }
    if (!over_) {
        boost::asio::post(local_.get_executor(), [self = shared_from_this()] { self->go_on(); });
    }
}

bool pump::read_local() {
    if (local_ended_ || !outgoing_.empty()) {
        return false;
    }
    const auto got = ::recv(local_.native_handle(), outgoing_.data.data(), chunk_size, MSG_DONTWAIT);
    if (got > 0) {
        outgoing_.begin = 0;
        outgoing_.end = static_cast<std::size_t>(got);
        return true;
    }
    if (got < 0 && not_now()) {
        lacks_.local_read = true;
        return false;
    }
    // A reset is an end as well: whoever closed it had not read all of ours.
    local_ended_ = true;
    return true;
}

bool pump::write_remote() {
    if (told_remote_ || (outgoing_.empty() && !local_ended_)) {
        return false;
    }
    if (outgoing_.empty()) {
        const auto step = remote_.end_writing();
        told_remote_ = step == tls_step::done;
        return after_remote(step);
    }
    std::size_t moved = 0;
    const auto step = remote_.write({outgoing_.data.data() + outgoing_.begin, outgoing_.size()}, moved);
    outgoing_.begin += moved;
    return after_remote(step);
}

bool pump::read_remote() {
    if (no_taker_ || !incoming_.empty()) {
        return false;
    }
    if (remote_ended_) {
        return notice_closed_remote();
    }
    std::size_t moved = 0;
    const auto step = remote_.read(incoming_.data, moved);
    if (step == tls_step::ended) {
        remote_ended_ = true;
        return true;
    }
    incoming_.begin = 0;
    incoming_.end = moved;
    return after_remote(step);
}

/// It said that it sends no more, and we still do. When it closes its socket it does not take ours either; TCP itself
/// would tell us so only at the next write.
bool pump::notice_closed_remote() {
    if (told_remote_) {
        return false;
    }
    char byte = 0;
    const auto got = ::recv(remote_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && not_now()) {
        lacks_.remote_read = true;
        return false;
    }
    cut(); // closed, broken, or bytes behind its own last word
    return false;
}

bool pump::write_local() {
    if (incoming_.empty()) {
        if (remote_ended_ && !told_local_) {
            error_code ignored; // it may have closed
            local_.shutdown(local_socket::shutdown_send, ignored);
            told_local_ = true;
            return true;
        }
        return false;
    }
    const auto sent = ::send(local_.native_handle(), incoming_.data.data() + incoming_.begin, incoming_.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        incoming_.begin += static_cast<std::size_t>(sent);
        return true;
    }
    if (sent < 0 && not_now()) {
        lacks_.local_write = true;
        return false;
    }
    taker_gone();
    return true;
}

/// True: something moved.
bool pump::after_remote(tls_step step) {
    switch (step) {
    case tls_step::done:
        return true;
    case tls_step::want_read:
        lacks_.remote_read = true;
        return false;
    case tls_step::want_write:
        lacks_.remote_write = true;
        return false;
    default:
        cut();
        return false;
    }
}

void pump::wait_for_what_lacks() {
    if (lacks_.remote_read) {
        wait_once(remote_.socket(), ready_for::wait_read, waiting_.remote_read);
    }
    if (lacks_.remote_write) {
        wait_once(remote_.socket(), ready_for::wait_write, waiting_.remote_write);
    }
    if (lacks_.local_read) {
        wait_once(local_, ready_for::wait_read, waiting_.local_read);
    }
    if (lacks_.local_write) {
        wait_once(local_, ready_for::wait_write, waiting_.local_write);
    }
}

template<class Socket>
void pump::wait_once(Socket& socket, boost::asio::socket_base::wait_type what, bool& waiting) {
    if (std::exchange(waiting, true)) {
        return;
    }
    socket.async_wait(what, [self = shared_from_this(), &waiting](const error_code& stopped) {
        waiting = false;
        if (!stopped && !self->over_) {
            self->go_on();
        }
    });
}

void pump::taker_gone() {
    no_taker_ = true;
    incoming_.begin = incoming_.end;
}

void pump::cut() {
    if (!over_) {
        close_hard(remote_.socket());
        finish();
    }
}

void pump::finish() {
    over_ = true;
    error_code ignored; // of sockets that end either way
    remote_.socket().close(ignored);
    local_.close(ignored);
    boost::asio::post(local_.get_executor(), [self = shared_from_this(), ended = std::exchange(ended_, nullptr)] {
        if (ended) {
            ended();
        }
    });
}

} // namespace chalk::cluster
