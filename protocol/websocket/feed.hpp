/// A listener that serves one run's events over websockets, one event a text message, with replay from any sequence
/// number (docs/protocols/websocket.md; RFC 6455). Clients share the run's events and keep only their place in them, so
/// a slow one costs nothing; one that takes nothing for ten seconds is dropped.
///
/// Owner: the run's websocket sink. Its death stops the listener; clients get what there is and are closed.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/event/event.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace chalk::websocket {

inline constexpr seconds handshake_deadline{5};
inline constexpr seconds write_deadline{10};
inline constexpr std::size_t most_clients = 16;

struct feed_options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any free one
    std::string token;      ///< asked of every client; must not be empty
};

class feed {
  public:
    /// Listening when it returns. error_class::config when the address cannot be bound.
    [[nodiscard]] static result<std::shared_ptr<feed>> listen(boost::asio::io_context& io, feed_options options);
    feed() = default;
    feed(const feed&) = delete;
    feed& operator=(const feed&) = delete;
    virtual ~feed() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
    /// Any thread; events in the order of their numbers.
    virtual void publish(const event_ptr& e) = 0;
    /// Any thread. Stops listening; clients are sent what was published and closed.
    virtual void close() = 0;
};

/// 256 random bits, in hexadecimal. error_class::harness when the system has none.
[[nodiscard]] result<std::string> make_token();

} // namespace chalk::websocket
