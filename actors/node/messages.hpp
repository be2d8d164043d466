/// Messages between sweep, node and runs. On one machine they stay inside one process: none is ever serialised.
#pragma once

#include "actors/node/disk_pressure.hpp"
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

/// This one alone, without asking its harness. Of an order that the node does not have it changes nothing.
struct kill_one_run {
    order_ptr order;
    std::string reason;
};

/// Every run of the node ends as an error, for `why`.
struct cut_off_runs {
    failure why;
};

/// Those that wait and were not admitted are given back: nothing of them has begun.
struct withdraw_runs {};

/// How many runs are admitted at once from now on, whatever they need; absent: as the ledger allows.
struct set_max_runs {
    std::optional<std::size_t> runs;
};

/// From a run: its deadline comes before every timer that runs.
struct arm_deadlines {};

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

/// Node to sweep: what the attempt has spent on models so far.
struct run_spent {
    run_key run;
    attempt_number attempt{1};
    journal::spending spent;
};

/// Node to sweep: what a user should know of the node, e.g. why it lets nobody in.
struct node_said {
    std::string text;
    bool is_short = false; ///< of room, descriptors or processes: it lets nobody in
};

/// From the pool: how full the node's disk is, and what chalk itself may have no more of.
struct room_measured {
    std::optional<disk_room> room; ///< absent: it could not be looked at
    std::optional<std::string> shortage;
};

/// The node's own timer: measure again.
struct measure_room {};

/// Node to sweep: the run is over, and what it had reserved is free again.
struct run_finished {
    result_ptr what;
    bool node_was_short = false; ///< of an error: the node lacked disk, inodes, descriptors or processes at its end
};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::start_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cancel_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::kill_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::kill_one_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::arm_deadlines)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::deadline_timer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::open_model_socket)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::run_reported)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::run_finished)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cut_off_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::set_max_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::run_spent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::node_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::room_measured)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::measure_room)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::withdraw_runs)
