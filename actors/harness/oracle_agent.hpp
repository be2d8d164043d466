/// The agent "oracle" of one run: runs the environment's own solution of each step, as the student, in the place of a
/// model. It shows that a task can be solved and that its judge says so.
///
/// Owner: the harness actor. It restarts nothing; its death kills the solution and all that it started.
#pragma once

#include "actors/harness/messages.hpp"

namespace chalk::actors {

struct oracle_options {
    config::limits limits;
    confinement::student_settings student;
};

/// Linked to `self`.
agent_actor spawn_oracle(caf::local_actor* self, boost::asio::io_context& io, oracle_options options,
                         agent_owner owner);

} // namespace chalk::actors
