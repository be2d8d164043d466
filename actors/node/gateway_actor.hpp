/// The node's model gateway (protocol/gateway/gateway.hpp) as an actor: opens and closes the runs' sockets.
///
/// Owner: the node, which starts it with the first run that asks a model and restarts it a few times. When it dies, the
/// model calls under way fail and nothing else: accounts are the node's, and the next one binds the same paths.
#pragma once

#include "actors/node/messages.hpp"
#include "actors/run/messages.hpp"
#include "protocol/gateway/gateway.hpp"

#include <filesystem>
#include <functional>
#include <memory>

namespace chalk::actors {

/// Who hears that its socket is open: a run.
using socket_user = caf::typed_actor<caf::reacts_to<model_socket_opened>>;

/// One run's socket.
struct model_socket {
    std::filesystem::path path; ///< of the host, alone in its folder
    std::shared_ptr<gateway::account> payer;
    std::shared_ptr<gateway::message_source> messages; ///< of an external agent; null: none
    bool sandboxed = true;
    bool wanted = false; ///< it was asked for, so that a new gateway opens it again
};

struct open_socket {
    model_socket what;
    socket_user user;
};

struct close_socket {
    std::filesystem::path path;
};

using gateway_actor = caf::typed_actor<
    /// Answer: model_socket_opened to the user.
    caf::reacts_to<open_socket>,
    /// The run is over: its calls end, its folder goes.
    caf::reacts_to<close_socket>>;

/// Spawned, held and monitored by the node.
[[nodiscard]] gateway_actor spawn_gateway(caf::local_actor* owner, boost::asio::io_context& io,
                                          const gateway::gateway_settings& settings);

/// What a node needs for its gateway.
struct gateway_site {
    gateway::gateway_settings settings;
    std::filesystem::path folder; ///< private to this process's user, short: a socket's path has at most 107 bytes
    /// Tests put their own here.
    std::function<gateway_actor(caf::local_actor*, boost::asio::io_context&, const gateway::gateway_settings&)> spawn =
        spawn_gateway;
};

/// The account and place of one run, and who answers its external agent; touches nothing.
[[nodiscard]] model_socket make_model_socket(const gateway_site& site, boost::asio::io_context& io,
                                             const run_order& order, ticket who);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::open_socket)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::close_socket)
