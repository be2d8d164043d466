/// A CLI agent of one run: starts its program once a step, as the student, and tells what it prints.
///
/// Owner: the harness actor. It restarts nothing; its death kills the program and all that it started.
#pragma once

#include "actors/harness/messages.hpp"
#include "config/cli_agent.hpp"
#include "protocol/gateway/spending_question.hpp"

namespace chalk::actors {

struct cli_agent_options {
    config::cli_agent agent;
    config::limits limits;
    std::string program; ///< instead of the description's, unless empty
    std::string model;   ///< as configured, with its prefix
    confinement::student_settings student;
    std::string gateway_socket;                           ///< the program reaches it by a port on loopback
    std::shared_ptr<gateway::spending_question> spending; ///< never null
};

/// The CLI agent that works in this run; nullptr: another agent does, or the fake model in its place.
[[nodiscard]] const config::cli_agent* cli_agent_of(const config::run_config& config);

/// Linked to `self`.
agent_actor spawn_cli_agent(caf::local_actor* self, boost::asio::io_context& io, cli_agent_options options,
                            agent_owner owner);

} // namespace chalk::actors
