/// Messages between sweep, node and runs. On one machine they stay inside one process: none is ever serialised.
#pragma once

#include "actors/run/messages.hpp"
#include "actors/run/run_order.hpp"

namespace chalk::actors {

struct start_run {
    order_ptr order;
};

/// Every run of the node: those that wait end at once, the others in order.
struct cancel_runs {
    std::string reason;
};

/// Every run of the node, without asking its harness.
struct kill_runs {
    std::string reason;
};

/// A run's one deadline; replaces the one before.
struct set_deadline {
    ticket who{0};
    std::uint64_t generation = 0;
    milliseconds after{0};
};

struct clear_deadline {
    ticket who{0};
};

/// The node's own timer.
struct deadline_timer {};

/// From a run: its model socket is wanted now. Answer: model_socket_opened, from the gateway.
struct open_model_socket {
    ticket who{0};
};

/// A run's last message before it quits.
struct run_reported {
    ticket who{0};
    result_ptr what;
};

/// Node to sweep: the run is over, and what it had reserved is free again.
struct run_finished {
    result_ptr what;
};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::start_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cancel_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::kill_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::set_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::clear_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::deadline_timer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::open_model_socket)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::run_reported)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::run_finished)
