/// Where a node listens to others (docs/protocols/cluster-transport.md): mutual TLS 1.3 is ended here, and what is
/// behind gets bytes of known peers alone, over local sockets. Strangers cost a bounded number of connections, each for
/// a bounded time, and one address's connections do not take the places of another's.
///
/// Owner: the node. Its death closes the port and cuts every connection.
#pragma once

#include "protocol/cluster/allow_list.hpp"
#include "protocol/cluster/connection_rate.hpp"
#include "protocol/cluster/peer_connection.hpp"
#include "protocol/cluster/refusal.hpp"
#include "protocol/cluster/tls_identity.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace chalk::cluster {

struct front_settings {
    std::string host = "127.0.0.1"; ///< an address
    std::uint16_t port = 0;         ///< 0: any free one
    milliseconds handshake_deadline{5000};
    std::size_t most_waiting = 64;         ///< connections that have not authenticated; see waiting_room.hpp
    std::size_t most_peers = 4096;         ///< connections that have
    std::size_t most_peers_of_a_name = 16; ///< so that one peer does not take all of them
    connection_rate_settings rate{};
    seconds vanished_after{30}; ///< at least 1; how long a peer may acknowledge or take nothing
};

/// All on the io thread; neither may block. They own what they use: they may run until the front's end has come to the
/// io thread.
struct front_events {
    std::function<void(peer_connection)> admitted;
    /// Each of them: whoever logs limits the rate.
    std::function<void(const refusal&)> refused;
};

class front {
  public:
    /// Listening when it returns. error_class::config when the identity cannot be used or the address cannot be bound.
    /// `io` must outlive it.
    [[nodiscard]] static result<std::shared_ptr<front>> listen(boost::asio::io_context& io,
                                                               const tls_identity& identity, allow_list allowed,
                                                               front_settings settings, front_events events);
    front() = default;
    front(const front&) = delete;
    front& operator=(const front&) = delete;
    virtual ~front() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;

    /// Any thread. From now on these hold; peers that could not come in any more are cut off soon after. error_class::
    /// config: the identity cannot be used, and what was before still holds.
    [[nodiscard]] virtual result<void> reload(const tls_identity& identity, allow_list allowed) = 0;

    /// Any thread.
    [[nodiscard]] virtual std::uint64_t refused(refusal_reason reason) const noexcept = 0;
    /// Any thread. Connections that have not authenticated, and ones that have.
    [[nodiscard]] virtual std::size_t waiting() const noexcept = 0;
    [[nodiscard]] virtual std::size_t peers() const noexcept = 0;
};

} // namespace chalk::cluster
