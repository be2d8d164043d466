/// The rules of MCP 2026-07-28 for one POST: which requests are of that version, and whether their headers say what
/// their bodies say (so that a proxy which routes by headers is not deceived). Pure functions. Specification:
/// modelcontextprotocol.io, 2026-07-28, "Streamable HTTP" and "Base Protocol".
#pragma once

#include "protocol/mcp/http_rules.hpp"
#include "protocol/mcp/json_rpc.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace chalk::mcp {

/// Keys of a request's, result's or notification's `_meta`.
namespace meta {
inline constexpr const char* protocol_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* client_capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr const char* log_level = "io.modelcontextprotocol/logLevel";
inline constexpr const char* server_info = "io.modelcontextprotocol/serverInfo";
inline constexpr const char* subscription_id = "io.modelcontextprotocol/subscriptionId";
} // namespace meta

/// Does this message, or the POST that it came with, speak of a version without sessions? Then check_stateless decides,
/// and no session is asked for.
[[nodiscard]] bool is_stateless(const header& request, const json& message);

/// Of a message that is_stateless. Every failure is HTTP status 400.
[[nodiscard]] std::optional<rpc_failure> check_stateless(const header& request, const json& message);

/// The text of an Mcp-Name header: as it stands, or `=?base64?...?=`. nullopt when that is not base64.
[[nodiscard]] std::optional<std::string> decode_header_text(std::string_view value);

/// "-32022: that version is not spoken, these are".
[[nodiscard]] rpc_failure unsupported_version(std::string_view requested);

} // namespace chalk::mcp
