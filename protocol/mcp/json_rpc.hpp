/// JSON-RPC 2.0 as MCP uses it: the text of a POST's body to checked messages, and the two forms of an answer. Pure
/// functions. Specification: jsonrpc.org, and modelcontextprotocol.io, "Base Protocol".
#pragma once

#include "protocol/event/event.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace chalk::mcp {

inline constexpr std::size_t most_batch = 100; ///< messages

/// Codes of JSON-RPC 2.0, and below -32000 those that MCP 2026-07-28 adds.
enum class rpc_error : int {
    parse = -32700,
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
    header_mismatch = -32020,
    unsupported_version = -32022,
};

struct rpc_failure {
    rpc_error code = rpc_error::invalid_request;
    std::string message;
    json data; ///< null: none
};

struct message_body {
    bool batch = false;
    /// 1 to most_batch; each an object with a method (a text), params (an object, if there) and an id (a text or a
    /// whole number, if there), or a response.
    std::vector<json> messages;
};

/// Any bytes; a failure is of code parse or invalid_request.
[[nodiscard]] std::variant<message_body, rpc_failure> parse_body(std::string_view text);

/// Of a message from parse_body: is an answer owed?
[[nodiscard]] bool is_request(const json& message);

[[nodiscard]] json make_error(const json& id, const rpc_failure& why);
[[nodiscard]] json make_error(const json& id, rpc_error code, std::string_view message);
[[nodiscard]] json make_result(const json& id, json result);

/// `object[key]` when it is a text, else empty; `object` may be any value.
[[nodiscard]] std::string text_of(const json& object, const char* key);

} // namespace chalk::mcp
