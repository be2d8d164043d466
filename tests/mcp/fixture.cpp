/// An MCP tool server for tests and load checks: prints its port, serves until its standard input ends. Cancelled calls
/// are printed as "cancelled <number>".
///
/// Usage: chalk_mcp_fixture [TOKEN]
/// Tools: those of conformance_tools.hpp, and echo {text}; route {region, urgent} (asks for both as headers and says
/// them again); fail; slow {ms}; grow (adds a tool, so that sessions are told).
#include "protocol/net/io_thread.hpp"
#include "tests/mcp/conformance_tools.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <vector>

#include <unistd.h>

using chalk::json;
namespace mcp = chalk::mcp;

namespace {

std::vector<mcp::tool_spec> tools(bool grown) {
    const json text = {{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}, {"required", {"text"}}};
    const json time = {{"type", "object"}, {"properties", {{"ms", {{"type", "integer"}}}}}, {"required", {"ms"}}};
    const json headers = {{"type", "object"},
                          {"properties",
                           {{"region", {{"type", "string"}, {"x-mcp-header", "Region"}}},
                            {"urgent", {{"type", "boolean"}, {"x-mcp-header", "Urgent"}}}}}};
    const json nothing = {{"type", "object"}};
    std::vector<mcp::tool_spec> out = {{"echo", "Says it again", text},
                                       {"route", "Takes headers", headers},
                                       {"fail", "Fails", nothing},
                                       {"slow", "Takes its time", time},
                                       {"grow", "Adds a tool", nothing}};
    for (auto& tool : chalk::test::conformance_tools()) {
        out.push_back(std::move(tool));
    }
    if (grown) {
        out.push_back({"added", "Came later", nothing});
    }
    return out;
}

} // namespace

int main(int count, char** arguments) {
    chalk::io_thread io;
    std::shared_ptr<mcp::server> server;
    mcp::server_handlers handlers;
    handlers.on_call = [&](const mcp::call_request& call, const std::function<void(mcp::tool_output)>& reply) {
        if (call.name == "echo") {
            reply(mcp::tool_output::text(call.arguments["text"].get<std::string>()));
        } else if (call.name == "route") {
            reply(mcp::tool_output::text(call.arguments.dump()));
        } else if (call.name == "slow") {
            chalk::test::after(io.context(), call.arguments["ms"].get<int>(),
                               [reply] { reply(mcp::tool_output::text("waited")); });
        } else if (call.name == "grow") {
            server->set_tools(tools(true));
            reply(mcp::tool_output::text("grown"));
        } else if (!chalk::test::call_conformance_tool(io.context(), call, reply)) {
            reply(mcp::tool_output::text("it failed", true));
        }
    };
    handlers.on_cancel = [](std::uint64_t number) {
        fmt::print("cancelled {}\n", number);
        std::fflush(stdout);
    };
    mcp::server_options options;
    options.bearer_token = count > 1 ? arguments[1] : "";
    auto listening = mcp::server::listen(io.context(), options, handlers);
    if (!listening) {
        fmt::print(stderr, "{}\n", listening.error().message);
        return 2;
    }
    server = *listening;
    server->set_tools(tools(false));
    fmt::print("{}\n", server->port());
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    server->close();
    return 0;
}
