/// Keeps a harness's pipe for stderr empty and the end of what came through it.
#pragma once

#include "protocol/core/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <memory>
#include <mutex>
#include <string>

namespace chalk::namespaces {

class stderr_tail : public std::enable_shared_from_this<stderr_tail> {
  public:
    static constexpr std::size_t kept = 4096;

    /// Reads on `io`'s thread from now on, until the pipe's other end is closed everywhere.
    [[nodiscard]] static std::shared_ptr<stderr_tail> start(boost::asio::io_context& io, unique_fd pipe);

    /// On `io`'s thread, when the writers are gone: reads what is still in the pipe. At most `kept` bytes, invalid
    /// UTF-8 replaced.
    [[nodiscard]] std::string finish();

    explicit stderr_tail(boost::asio::io_context& io) : pipe_(io) {}

  private:
    void read();
    void add(const char* data, std::size_t size);

    boost::asio::posix::stream_descriptor pipe_;
    std::array<char, 4096> buffer_{};
    std::mutex mutex_;
    std::string tail_;
};

} // namespace chalk::namespaces
