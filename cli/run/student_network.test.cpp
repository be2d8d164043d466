#include "cli/run/student_network.hpp"

#include "protocol/core/sandbox_layout.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>

using namespace chalk;
using firewall::network_reach;
using ports = std::vector<std::uint16_t>;

TEST_CASE("the builtin agent's student reaches none of the harness's ports", "[student_network]") {
    config::run_config config;
    config.websocket_port = 9000;
    const auto ready = cli::with_sandbox_ports(config);
    CHECK(ready.mcp.port == sandbox_layout::tool_server_port);
    CHECK(cli::student_network(ready, network_reach::local).closed_ports ==
          ports{9000, sandbox_layout::tool_server_port, sandbox_layout::gateway_port});
    config.mcp.port = 7000;
    CHECK(cli::student_network(cli::with_sandbox_ports(config), network_reach::local).closed_ports ==
          ports{9000, 7000, sandbox_layout::gateway_port});
}

TEST_CASE("an agent that is a program reaches the tool server and the gateway, and never the websocket",
          "[student_network]") {
    config::run_config config;
    config.agent = "codex";
    config.websocket_port = 9000;
    const auto policy = cli::student_network(cli::with_sandbox_ports(config), network_reach::internal);
    CHECK(policy.closed_ports == ports{9000});
    CHECK(policy.reach == network_reach::internal);
    // A fake model takes the agent's place.
    config.use_fake_model = true;
    CHECK(cli::student_network(cli::with_sandbox_ports(config), network_reach::local).closed_ports.size() == 3);
}

TEST_CASE("CHALK_STUDENT_NETWORK takes the words that it knows", "[student_network]") {
    ::setenv("CHALK_STUDENT_NETWORK", "internal", 1);
    CHECK(cli::student_reach().value() == network_reach::internal);
    ::setenv("CHALK_STUDENT_NETWORK", "everything", 1);
    CHECK(cli::student_reach().has_error());
    ::unsetenv("CHALK_STUDENT_NETWORK");
    CHECK(cli::student_reach().value() == network_reach::local);
}
