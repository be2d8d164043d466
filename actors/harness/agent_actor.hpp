/// The builtin or the external agent of one run: asks its model, or whoever thinks behind the backend, has tools
/// called, and asks again, as agent_loop says.
///
/// Owner: the harness actor. It restarts nothing; the conversation dies with it.
#pragma once

#include "actors/harness/messages.hpp"
#include "config/defaults.hpp"
#include "protocol/gateway/spending_question.hpp"

namespace chalk::actors {

struct agent_options {
    std::string name = "builtin";
    config::limits limits;
    std::shared_ptr<model::model> mind;
    std::shared_ptr<gateway::spending_question> spending; ///< null where nothing costs: the fake model
    milliseconds turn_deadline = config::defaults::model_turn;
};

/// `gateway`: where a real model is asked (model::model_settings::gateway_socket).
[[nodiscard]] model::model_settings model_settings_of(const config::run_config& config, std::string gateway);

/// Linked to `self`.
agent_actor spawn_agent(caf::local_actor* self, agent_options options, tool_server_actor tools, agent_owner owner);

} // namespace chalk::actors
