/// Asks a backend for the next message of one run's external agent, for as long as the harness waits: through refused
/// connections, errors of the server and its word that there is none yet.
///
/// Owner: the node, with the run's model socket. When it dies, an open request gets no answer.
#pragma once

#include "protocol/backend/target.hpp"
#include "protocol/core/units.hpp"
#include "protocol/gateway/message_source.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace chalk::backend {

/// The heartbeat: a backend that has no message says within this time that it waits, and is asked again.
inline constexpr milliseconds message_heartbeat{60'000};
/// Between two requests, however fast a backend says that it waits.
inline constexpr milliseconds message_pause{250};

/// Any thread; `io` outlives it.
[[nodiscard]] std::shared_ptr<gateway::message_source> make_message_desk(boost::asio::io_context& io, const target& to,
                                                                         const stream& of);

} // namespace chalk::backend
