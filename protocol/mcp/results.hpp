/// The words of MCP that more than one answer has. Pure functions.
#pragma once

#include "protocol/mcp/tool_host.hpp"

#include <optional>
#include <string_view>

namespace chalk::mcp {

[[nodiscard]] json server_info();
[[nodiscard]] json capabilities();
/// 2026-07-28 wants a few words around each result.
[[nodiscard]] json result_for(const session& of, json result);
/// 2026-07-28: of a result that a client might keep, for how long it may.
[[nodiscard]] json not_to_be_kept(json result);
/// `params._meta[key]`, or null.
[[nodiscard]] json of_meta(const json& params, const char* key);
[[nodiscard]] json notification_of(const char* method, json params);

/// Of one of MCP's eight log levels, which are syslog's: 0 is "debug", 7 "emergency". nullopt: there is no such level.
[[nodiscard]] std::optional<int> severity_of(std::string_view name);
[[nodiscard]] int severity_of(log_level level);
[[nodiscard]] std::string_view severity_name(int severity);

} // namespace chalk::mcp
