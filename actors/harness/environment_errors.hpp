/// What a failed call of the environment means for the run (docs/reference/lifecycle.md, "Whose error"). Pure.
#pragma once

#include "actors/harness/lifecycle.hpp"
#include "protocol/environment/client.hpp"
#include "protocol/mcp/server.hpp"

#include <string_view>

namespace chalk::actors {

/// Of a hook, judge or query. nullopt for a closed stream: the report of the host's end, which says more, is coming.
[[nodiscard]] std::optional<lifecycle::trouble> trouble_of(std::string_view method, const environment::call_error& why);

/// Of call_tool: always a result for the model, never the environment's traceback.
[[nodiscard]] mcp::tool_output tool_output_of(std::string_view tool, const environment::call_error& why);

} // namespace chalk::actors
