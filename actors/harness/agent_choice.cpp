#include "actors/harness/agent_choice.hpp"

#include "actors/harness/agent_actor.hpp"
#include "actors/harness/cli_agent_actor.hpp"
#include "actors/harness/oracle_agent.hpp"
#include "config/external_agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::actors {

namespace {

/// Null: no gateway counts what the agent asks for.
std::shared_ptr<gateway::spending_question> make_spending_question(boost::asio::io_context& io,
                                                                   const harness_options& options) {
    const auto where = net::http_address::parse(options.gateway_socket);
    return options.config.use_fake_model || !where ? nullptr : std::make_shared<gateway::spending_question>(io, *where);
}

} // namespace

result<agent_actor> spawn_chosen_agent(caf::local_actor* self, boost::asio::io_context& io,
                                       const harness_options& options, const tool_server_actor& tools,
                                       const agent_owner& owner) {
    const auto& config = options.config;
    if (const auto* cli = cli_agent_of(config)) {
        return spawn_cli_agent(self, io,
                               {*cli, config.limit, config.agent_program, config.model, options.student,
                                options.gateway_socket, make_spending_question(io, options)},
                               owner);
    }
    if (config.agent == config::oracle_agent) {
        return spawn_oracle(self, io, {config.limit, options.student}, owner);
    }
    auto mind = model::make_model(io, model_settings_of(config, options.gateway_socket));
    if (!mind) {
        return mind.error();
    }
    const auto turn_deadline =
        config::has_external_agent(config) ? options.external_message : config::defaults::model_turn;
    return spawn_agent(
        self, {config.agent, config.limit, std::move(*mind), make_spending_question(io, options), turn_deadline}, tools,
        owner);
}

void leave_out_brought_tools(const config::run_config& config, std::vector<std::string>& builtin) {
    if (const auto* cli = cli_agent_of(config)) {
        std::erase_if(builtin, [cli](const std::string& tool) {
            return std::ranges::find(cli->brings_tools, tool) != cli->brings_tools.end();
        });
    }
}

result<void> check_run_config(const config::run_config& config, const std::string& gateway_socket) {
    const auto& agents = config::agent_names();
    if (std::find(agents.begin(), agents.end(), config.agent) == agents.end()) {
        return config_failure(
            fmt::format("agent: there is no agent \"{}\"; known agents: {}", config.agent, fmt::join(agents, ", ")));
    }
    if (config::has_external_agent(config) && config.backend_uri.empty()) {
        return config_failure("agent external needs a backend, which its messages come from: set backend_uri");
    }
    if (const auto* cli = cli_agent_of(config); cli != nullptr && config.model.empty()) {
        return config_failure(fmt::format("agent {} needs a model: set model, or --model", cli->name));
    }
    return cli_agent_of(config) != nullptr || config.agent == config::oracle_agent
               ? result<void>{}
               : model::check_model(model_settings_of(config, gateway_socket));
}

} // namespace chalk::actors
