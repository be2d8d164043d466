#include "actors/harness/environment_errors.hpp"

#include <fmt/format.h>

namespace chalk::actors {

using environment::call_error_kind;
using environment::rpc_code;

std::optional<lifecycle::trouble> trouble_of(std::string_view method, const environment::call_error& why) {
    switch (why.kind) {
    case call_error_kind::closed:
        return std::nullopt;
    case call_error_kind::timeout:
        return lifecycle::trouble{timeout_failure(fmt::format("{}: {}", method, why.message)), why.details};
    case call_error_kind::protocol:
        return lifecycle::trouble{
            task_failure(fmt::format("{}: the environment host broke the protocol: {}", method, why.message)),
            why.details};
    case call_error_kind::remote:
        break;
    }
    if (why.code == static_cast<int>(rpc_code::student_misbehavior)) {
        return lifecycle::trouble{task_failure(why.message), why.details, true};
    }
    return lifecycle::trouble{task_failure(fmt::format("{}: {}", method, why.message)), why.details};
}

mcp::tool_output tool_output_of(std::string_view tool, const environment::call_error& why) {
    std::string text;
    switch (why.kind) {
    case call_error_kind::closed:
        text = fmt::format("tool {}: the environment ended during the call", tool);
        break;
    case call_error_kind::timeout:
        text = fmt::format("tool {}: no answer in time, the call was cancelled ({})", tool, why.message);
        break;
    case call_error_kind::protocol:
    case call_error_kind::remote:
        text = fmt::format("tool {}: {}", tool, why.message);
        break;
    }
    return {{{{"type", "text"}, {"text", std::move(text)}}}, true, false};
}

} // namespace chalk::actors
