/// A connection with a peer that has proved who it is, as its user gets it.
#pragma once

#include "protocol/cluster/channel.hpp"
#include "protocol/cluster/node_name.hpp"
#include "protocol/core/unique_fd.hpp"

#include <string>

namespace chalk::cluster {

struct peer_connection {
    node_name name; ///< of the peer's certificate
    channel wanted = channel::control;
    std::string address; ///< `ADDR:PORT` of the peer
    /// A local stream socket, blocking, closed on exec. What is written there the peer gets, and the other way round;
    /// shutdown() ends one direction. A cut connection reads as its end, and writing to it fails (EPIPE). Close it
    /// after reading to the end: a socket that is closed with bytes unread is a cut for the peer, as with TCP.
    unique_fd socket;
};

} // namespace chalk::cluster
