/// The harness subtree's interfaces. The harness actor owns one run inside its sandbox (or in this process with
/// --no-containerized): environment, tool server, agent. It restarts nothing: whatever dies below it ends the run with
/// the class of what died. When it is done (its final event was sent) it quits normally; its owner monitors it and
/// turns any other end into an error of class harness.
#pragma once

#include "actors/harness/student_firewall.hpp"
#include "actors/messages.hpp"
#include "config/defaults.hpp"
#include "config/run_config.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>

namespace chalk::actors {

/// Who hears of a run: transcript, terminal, websocket, backend, or the channel to the host.
using event_sink = caf::typed_actor<
    /// The run's next events.
    caf::reacts_to<events_recorded>,
    /// --prepare-only: ready, waiting to be cancelled.
    caf::reacts_to<run_prepared>>;

/// A sink's word on its queue: while it is not `writable` the agent takes no further turn, and log lines are counted
/// instead of sent. Within one process only.
struct event_flow {
    bool writable = true;
};

using harness_actor = caf::typed_actor<
    /// Ends the run in order, as cancelled.
    caf::reacts_to<cancel_run>,
    /// Holds the agent between turns, or lets it go on.
    caf::reacts_to<event_flow>>;

/// Where this harness finds things: sandbox_layout inside a sandbox, a private folder with --no-containerized.
struct harness_places {
    std::filesystem::path environment; ///< folder of the environment's source
    std::filesystem::path workdir;
    std::filesystem::path root_data;
    std::filesystem::path intermediate_data;
    std::filesystem::path out;    ///< artifacts go to out/
    std::filesystem::path python; ///< folder that holds the package chalk
};

struct harness_options {
    config::run_config config;
    harness_places places;
    confinement::student_settings student;
    /// What the student's files may take where nothing holds them: the harness watches. Absent: held, or not limited.
    std::optional<bytes> watched_disk;
    /// Where a real model is asked: path of the gateway's unix socket as this harness sees it, or HOST:PORT.
    std::string gateway_socket;
    firewall_options firewall;
    bool listens = true;          ///< false: the tools have no MCP port (`chalk bench dispatch`)
    bool prepare_only = false;    ///< makes /tmp/chalk_prepared_<run id> when ready
    std::string confinement_note; ///< which confinement is in force; logged when the task is set up
    /// Of an external agent: the longest that one message may take. Another than the default is for tests.
    milliseconds external_message = config::defaults::external_message;
};

/// Spawned by the run actor or by the inner harness's main. `io` outlives the actor. Events go to `sink`.
harness_actor spawn_harness(caf::local_actor* owner, boost::asio::io_context& io, harness_options options,
                            event_sink sink);

/// What a harness would refuse for its config alone: an unknown agent, a model of no known provider or without a
/// gateway, a script of the wrong shape. error_class::config. Call it before anything is started; the harness does so
/// too.
[[nodiscard]] result<void> check_run_config(const config::run_config& config, const std::string& gateway_socket);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::event_flow)
