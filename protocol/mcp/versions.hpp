/// The versions of MCP that are spoken, and what differs between them. Pure functions.
#pragma once

#include "protocol/event/event.hpp"

#include <string_view>

namespace chalk::mcp {

/// Of those with sessions: what `initialize` is answered with when the client's own is not known.
inline constexpr std::string_view newest_session_version = "2025-11-25";
/// The one without: every request says by itself what it needs to be understood.
inline constexpr std::string_view stateless_version = "2026-07-28";

[[nodiscard]] bool is_session_version(std::string_view version) noexcept;
/// JSON-RPC batches came with the first versions and went with 2025-06-18.
[[nodiscard]] bool allows_batches(std::string_view version) noexcept;
/// May a stream of events begin with one that has an id and no data? Clients of older versions take it for a message.
[[nodiscard]] bool knows_empty_events(std::string_view version) noexcept;
/// All of them, the newest first: `supported` of an error, `supportedVersions` of server/discover.
[[nodiscard]] json all_versions();

} // namespace chalk::mcp
