/// What a client asks a feed for: parsed and checked before any websocket exists (docs/protocols/websocket.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace chalk::websocket {

/// Granted: send events from number `from` on.
struct subscription {
    std::uint64_t from = 1;
};

/// Refused, with this HTTP status.
struct refusal {
    unsigned status = 400;
    std::string message;
};

/// `target` is the request's path and query, `authorization` its header ("" when absent). The token is compared in
/// constant time.
[[nodiscard]] std::variant<subscription, refusal> check_request(std::string_view target, std::string_view authorization,
                                                                std::string_view token);

} // namespace chalk::websocket
