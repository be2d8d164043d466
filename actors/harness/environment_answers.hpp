/// The environment's answers, read strictly, as facts of the lifecycle. Pure.
#pragma once

#include "actors/harness/lifecycle.hpp"
#include "actors/harness/solution_command.hpp"
#include "protocol/host_channel/messages.hpp"
#include "protocol/mcp/server.hpp"

#include <string_view>

namespace chalk::actors {

/// What `answer` to `method` means. error_class::task, with method and field, when it is not as
/// docs/protocols/environment.md says.
[[nodiscard]] result<lifecycle::fact> fact_of(std::string_view method, const json& answer);

/// The answer to list_tasks.
[[nodiscard]] result<host_channel::described> described_tasks(const json& answer);

/// A tool of configure_tools' answer.
struct environment_tool {
    mcp::tool_spec spec;
    std::optional<milliseconds> timeout;
};
[[nodiscard]] result<environment_tool> tool_of(const json& value);

/// The answer to solution; nullopt: the step has none.
[[nodiscard]] result<std::optional<solution_command>> solution_of(const json& answer);

/// The answer to call_tool.
[[nodiscard]] result<mcp::tool_output> tool_output_of(const json& answer);

} // namespace chalk::actors
