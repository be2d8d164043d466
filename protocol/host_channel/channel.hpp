/// One end of the host channel: JSON lines over an AF_UNIX stream socket (docs/protocols/host-channel.md). Knows lines,
/// not messages. Both ends use it: the event relay on the host, the inner harness in the sandbox.
///
/// Owner: whoever opened it. Letting go of the last pointer closes the socket, and what was queued and not yet written
/// is lost; `finish` writes it out first.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::host_channel {

/// More than this queued, and `writable` is false until all of it is written.
inline constexpr std::size_t queue_limit = std::size_t{4} << 20U;
/// A longer line from the peer ends the channel.
inline constexpr std::size_t line_limit = std::size_t{64} << 20U;

/// All callbacks run on the io context's thread. None follows `on_end` or `close`.
struct channel_handlers {
    /// One line, without its break. The view is valid during the call only.
    std::function<void(std::string_view line)> on_line;
    /// Once: the peer is gone (nullopt), or the channel broke and why.
    std::function<void(std::optional<failure> why)> on_end;
    /// The queue was over its limit and is empty again. May be left out.
    std::function<void()> on_drained;
};

class channel {
  public:
    /// Takes over `socket`. error_class::harness when it is no stream socket.
    [[nodiscard]] static result<std::shared_ptr<channel>> open(boost::asio::io_context& io, unique_fd socket,
                                                               channel_handlers handlers);
    channel() = default;
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    virtual ~channel() = default;

    /// Any thread. Queues `line` and its break; dropped once the channel has ended. Never refuses for size: the sender
    /// asks `writable` before it makes more.
    virtual void send(std::string line) = 0;
    /// Any thread.
    [[nodiscard]] virtual bool writable() const noexcept = 0;
    /// Any thread. Lines that were read already still come; no more are read until `resume_reading`, so that the peer's
    /// queue fills up.
    virtual void pause_reading() = 0;
    virtual void resume_reading() = 0;
    /// Any thread. Writes what is queued and then closes; `done` runs on the io thread, also when the peer is gone.
    virtual void finish(std::function<void()> done) = 0;
    /// Any thread.
    virtual void close() = 0;
};

} // namespace chalk::host_channel
