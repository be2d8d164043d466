/// Messages between a run actor and what serves it. They stay inside one process: none is ever serialised.
#pragma once

#include "actors/messages.hpp"
#include "actors/node/ledger.hpp"
#include "actors/run/run_machine.hpp"
#include "runtimes/runtime.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chalk::actors {

/// As cancel_run, at once.
struct kill_run {
    std::string reason;
};

/// What the sandbox needs is there, or why not.
struct site_prepared {
    result<void> how;
};

/// From the gateway: the run's models can be asked now, or why not. Said again when the gateway was restarted.
struct model_socket_opened {
    result<void> how;
};

/// `made` is null for a harness of this process.
struct site_started {
    result<std::shared_ptr<sandbox>> made;
};

/// Every process of the sandbox is gone, or the harness actor is down.
struct site_ended {
    harness_end how;
};

struct site_removed {
    result<std::optional<std::filesystem::path>> how;
};

/// The host channel: the peer is gone, or what it sent made no sense.
struct host_channel_ended {
    std::optional<failure> why;
};

/// The transcript of `who` is on disk, or why not.
struct transcript_written {
    ticket who{0};
    result<void> how;
};

/// From the backend sink: a line for the run's log.
struct backend_said {
    log_level level = log_level::info;
    std::string text;
};

/// From the backend sink, once: the backend has all events, or gets no more. Empty, or what is left and where.
struct backend_settled {
    std::string remark;
};

/// The deadline that the run set with this generation.
struct deadline_passed {
    deadline_kind kind = deadline_kind::part;
    std::uint64_t generation = 0;
};

/// End as an error, for `why`: the sweep does not wait any longer.
struct cut_off_run {
    failure why;
};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::kill_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::site_prepared)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::model_socket_opened)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::site_started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::site_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::site_removed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::host_channel_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::transcript_written)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::backend_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::backend_settled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::deadline_passed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cut_off_run)
