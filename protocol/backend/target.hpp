/// Which backend a run tells of itself, and as what. docs/protocols/backend.md.
#pragma once

#include "protocol/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace chalk::backend {

/// An address of a backend, taken apart.
struct uri {
    bool secure = false;    ///< https, wss
    bool websocket = false; ///< ws, wss
    std::string host;       ///< without brackets
    std::uint16_t port = 0; ///< 80 and 443 where the text has none
    std::string target;     ///< path and query, "/" at least

    /// HOST, or HOST:PORT where the port is not the scheme's own: what the header Host says.
    [[nodiscard]] std::string authority() const;
    /// For people: without the query, which may hold what nobody else should read.
    [[nodiscard]] std::string display() const;
};

/// http, https, ws or wss. error_class::config for anything else, and for an address that holds a user or a password:
/// it would end up in transcripts.
[[nodiscard]] result<uri> parse_uri(std::string_view text);

/// Where to, and with what right. Never print one.
struct target {
    std::string uri;     ///< as parse_uri takes it
    std::string token;   ///< CHALK_BACKEND_TOKEN; empty: none is sent
    std::string ca_file; ///< PEM of authorities; empty: the system's
};

/// The name of the variable with the token.
inline constexpr const char* token_variable = "CHALK_BACKEND_TOKEN";

/// One attempt at one run, as a backend knows it. Sequence numbers count within `id`.
struct stream {
    std::string id; ///< of letters, digits and dashes; no two streams ever have the same
    std::string run_id;
    std::uint32_t attempt = 1;
};

/// What the ids of one chalk's streams begin with: 128 random bits. error_class::harness when the system has none.
[[nodiscard]] result<std::string> make_stream_salt();

} // namespace chalk::backend
