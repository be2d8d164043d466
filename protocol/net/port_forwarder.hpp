/// A TCP port on loopback whose connections go on to a unix socket, byte for byte: programs that know only http://HOST
/// reach the gateway's socket through it.
#pragma once

#include "protocol/core/result.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace chalk {

class port_forwarder {
  public:
    /// Listens on 127.0.0.1, on a free port, until it is destroyed; then open connections end too.
    /// error_class::harness. `socket` is connected to anew for each connection, so that it may be replaced in between.
    [[nodiscard]] static result<std::shared_ptr<port_forwarder>> listen(boost::asio::io_context& io,
                                                                        std::string socket);
    port_forwarder() = default;
    port_forwarder(const port_forwarder&) = delete;
    port_forwarder& operator=(const port_forwarder&) = delete;
    virtual ~port_forwarder() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
};

} // namespace chalk
