/// Which agent works in a run: a program of its own, the environment's solution, or the builtin loop over a model or
/// over whoever is behind the backend.
#pragma once

#include "actors/harness/messages.hpp"

#include <string>
#include <vector>

namespace chalk::actors {

/// Linked to `self`. A failure of the model's own class when there is no such model.
[[nodiscard]] result<agent_actor> spawn_chosen_agent(caf::local_actor* self, boost::asio::io_context& io,
                                                     const harness_options& options, const tool_server_actor& tools,
                                                     const agent_owner& owner);

/// Takes those of the builtin tools out that the run's agent brings itself.
void leave_out_brought_tools(const config::run_config& config, std::vector<std::string>& builtin);

} // namespace chalk::actors
