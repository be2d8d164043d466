/// The backend sink of one run: its events go to a backend over the network (protocol/backend/sender.hpp), and are on
/// disk until the backend has them (protocol/backend/spool.hpp). The run never waits for it.
///
/// Owner: the run actor, which monitors it. When it dies, the backend hears nothing more of this run; what it had been
/// given stays in the spool, and the run goes on.
#pragma once

#include "actors/node/blocking_pool.hpp"
#include "actors/run/interfaces.hpp"
#include "actors/run/run_order.hpp"
#include "protocol/backend/delivery.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <memory>

namespace chalk::actors {

/// From the io thread, for the sink itself.
struct sender_said {
    backend::delivery::say what;
};
struct sender_settled {
    backend::delivery::settle how;
};
/// From the pool, for the sink itself: the events could not be kept.
struct spool_failed {
    failure why;
};
/// From the pool, for the sink itself: the backend has all, and the spool is gone.
struct spool_removed {};

using backend_sink = caf::typed_actor<
    /// One more event. After the final one the client gets one backend_settled.
    caf::reacts_to<events_recorded>, caf::reacts_to<sender_said>, caf::reacts_to<sender_settled>,
    caf::reacts_to<spool_failed>, caf::reacts_to<spool_removed>>;

struct backend_sink_options {
    run_backend backend;
    std::shared_ptr<blocking_pool> pool;
    boost::asio::io_context* io = nullptr; ///< outlives the actor
};

/// What is said of a run whose events are not all with the backend.
[[nodiscard]] std::string undelivered_remark(const run_backend& backend);

[[nodiscard]] backend_sink spawn_backend_sink(caf::local_actor* owner, backend_sink_options options,
                                              backend_client client);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::sender_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::sender_settled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::spool_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::spool_removed)
