/// The root of a harness process's tree: the host channel's end, the sink of the run's events, the harness's owner.
///
/// Owner: run_inner_harness. When it quits the process ends.
#pragma once

#include "actors/harness/inner.hpp"
#include "actors/harness/messages.hpp"
#include "protocol/host_channel/channel.hpp"
#include "protocol/host_channel/messages.hpp"

namespace chalk::actors {

/// A line of the host's.
struct host_said {
    result<host_channel::host_message> message = host_channel::cancel{};
};
/// The host is gone, or the channel broke.
struct host_gone {};
/// The channel's queue is empty again.
struct host_caught_up {};

using inner_actor = event_sink::extend<
    /// Start or Cancel.
    caf::reacts_to<host_said>,
    /// Kill everything and quit.
    caf::reacts_to<host_gone>,
    /// The agent may go on.
    caf::reacts_to<host_caught_up>,
    /// In mode describe: the environment's tasks.
    caf::reacts_to<environment_answered>,
    /// In mode describe: the environment is gone.
    caf::reacts_to<environment_ended>,
    /// In mode describe: the environment printed something.
    caf::reacts_to<environment_logged>>;

/// How a harness process ended.
struct inner_end {
    bool final_sent = false;
    std::string why; ///< for stderr when nothing could be sent
};

/// Takes over `channel_fd`. `ended` runs once, on any thread, when everything was written or cannot be.
inner_actor spawn_inner(caf::actor_system& system, boost::asio::io_context& io, unique_fd channel_fd,
                        inner_options options, std::function<void(inner_end)> ended);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::host_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::host_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::host_caught_up)
