/// The tools that `@modelcontextprotocol/conformance` asks a server under test to have, as its scenarios describe them.
#pragma once

#include "protocol/mcp/server.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <vector>

namespace chalk::test {

[[nodiscard]] std::vector<mcp::tool_spec> conformance_tools();

/// False when `call` names none of them; else `reply` is called, now or on the io thread.
bool call_conformance_tool(boost::asio::io_context& io, const mcp::call_request& call,
                           const std::function<void(mcp::tool_output)>& reply);

/// Runs `action` on the io thread in `ms` milliseconds.
void after(boost::asio::io_context& io, int ms, std::function<void()> action);

} // namespace chalk::test
