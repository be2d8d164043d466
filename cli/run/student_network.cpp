#include "cli/run/student_network.hpp"

#include "config/cli_agent.hpp"
#include "protocol/core/sandbox_layout.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace chalk::cli {

namespace {

/// Agents inside the harness; all others are programs that run as the student and speak MCP.
bool thinks_in_harness(const config::run_config& config) {
    return config.use_fake_model || config::find_cli_agent(config.agent) == nullptr;
}

} // namespace

result<firewall::network_reach> student_reach() {
    const char* text = std::getenv("CHALK_STUDENT_NETWORK");
    const std::string_view word = text == nullptr ? "" : text;
    const auto reach = firewall::parse_reach(word);
    if (!reach) {
        return config_failure(
            fmt::format("CHALK_STUDENT_NETWORK is \"{}\": expected internal or local (nothing is local too)", word));
    }
    return *reach;
}

config::run_config with_sandbox_ports(config::run_config config) {
    if (config.mcp.port == 0) {
        config.mcp.port = sandbox_layout::tool_server_port;
    }
    return config;
}

firewall::policy student_network(const config::run_config& config, firewall::network_reach reach) {
    firewall::policy wanted{sandbox_layout::student_uid, {}, reach};
    if (config.websocket_port) {
        wanted.closed_ports.push_back(*config.websocket_port);
    }
    if (thinks_in_harness(config)) {
        wanted.closed_ports.push_back(config.mcp.port);
        wanted.closed_ports.push_back(sandbox_layout::gateway_port);
    }
    return wanted;
}

} // namespace chalk::cli
