/// The environment of one run as an actor: a child process that speaks the environment protocol. The no-op environment
/// has none: whoever would call it asks noop_environment.
///
/// Owner: the harness actor (or the describer). It restarts nothing; when the host ends unasked, its owner hears
/// environment_ended, and the actor quits. When the actor dies the host is killed.
#pragma once

#include "actors/harness/messages.hpp"

namespace chalk::actors {

struct environment_launch {
    harness_places places;
    confinement::student_settings student;
    std::string run;                   ///< CHALK_RUN_ID of the host; empty: not set
    std::optional<std::uint64_t> seed; ///< CHALK_SEED of the host; absent: not set
};

[[nodiscard]] environment_launch launch_of(const harness_options& options);

/// How long a step may take, by the environment's manifest. nullopt: it does not say, or the run's config does, which
/// stands above it. Reads the manifest; one that cannot be read says nothing here, and fails the host's start.
[[nodiscard]] std::optional<seconds> step_time_of(const harness_options& options);

/// How the environment host of `launch` is started: the manifest's command, or Python's chalk.host.
[[nodiscard]] result<process::command> host_command(const environment_launch& launch);

/// `initialize`'s paths, by the names of the protocol.
[[nodiscard]] json environment_paths(const harness_places& places);

/// Linked to `self`.
environment_actor spawn_environment(caf::local_actor* self, boost::asio::io_context& io, environment_launch launch,
                                    environment_owner owner);

} // namespace chalk::actors
