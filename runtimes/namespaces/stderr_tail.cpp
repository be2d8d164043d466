#include "runtimes/namespaces/stderr_tail.hpp"

#include "protocol/core/json_text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include <unistd.h>

namespace chalk::namespaces {

std::shared_ptr<stderr_tail> stderr_tail::start(boost::asio::io_context& io, unique_fd pipe) {
    auto tail = std::make_shared<stderr_tail>(io);
    boost::asio::post(io, [tail, fd = pipe.release()] {
        boost::system::error_code error;
        tail->pipe_.assign(fd, error);
        if (error) { // the reactor is out of something: the harness then finds its stderr closed
            ::close(fd);
            return;
        }
        tail->pipe_.non_blocking(true, error);
        tail->read();
    });
    return tail;
}

void stderr_tail::read() {
    pipe_.async_read_some(boost::asio::buffer(buffer_),
                          [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                              self->add(self->buffer_.data(), size);
                              if (!error) {
                                  self->read();
                              }
                          });
}

std::string stderr_tail::finish() {
    boost::system::error_code error;
    std::array<char, 4096> rest{};
    while (!error && pipe_.is_open()) {
        const std::size_t size = pipe_.read_some(boost::asio::buffer(rest), error);
        add(rest.data(), size);
    }
    const std::lock_guard lock(mutex_);
    return to_valid_utf8(tail_);
}

void stderr_tail::add(const char* data, std::size_t size) {
    const std::lock_guard lock(mutex_);
    tail_.append(data, size);
    if (tail_.size() > kept) {
        tail_.erase(0, tail_.size() - kept);
    }
}

} // namespace chalk::namespaces
