// How long one call of a tool that does nothing takes, over a connection that is kept, when its owner replies at once:
// the MCP server alone, in a process of its own.
//
// Usage: chalk-bench-mcp-server [COUNT]    prints {"p50_us":..,"p99_us":..,"mean_us":..}
#include "protocol/mcp/server.hpp"

#include "bench/mcp_call/raw_client.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/net/io_thread.hpp"

using namespace chalk;

int main(int argc, char** argv) {
    const int count = bench::count_of(argc, argv);
    io_thread io;
    mcp::server_handlers on;
    on.on_call = [](const mcp::call_request&, const std::function<void(mcp::tool_output)>& reply) {
        reply(mcp::tool_output::text("nothing"));
    };
    const auto server = mcp::server::listen(io.context(), {}, on).value();
    server->set_tools({{"nothing", "does nothing", {{"type", "object"}}}});
    fmt::print("{}\n", dump_json(bench::measure(server->port(), {}, count)));
    return 0;
}
