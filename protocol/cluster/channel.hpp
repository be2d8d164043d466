/// What a connection between nodes is for. The caller asks for it in its TLS handshake (ALPN, RFC 7301), so that no
/// byte of ours is read before the peer is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chalk::cluster {

enum class channel : std::uint8_t {
    control, ///< actors' messages and heartbeats
    bulk,    ///< environments, artifacts: on a connection of its own, so that it delays no heartbeat
};

/// `chalk-control/1` or `chalk-bulk/1`.
[[nodiscard]] std::string_view alpn_name(channel which) noexcept;
/// Nothing for another name.
[[nodiscard]] std::optional<channel> channel_of(std::string_view alpn) noexcept;

/// The first byte inside TLS, from the side that listens: what became of the caller. Without it a caller would take its
/// own end of a TLS 1.3 handshake for being let in, before the other side has looked at its certificate.
enum class welcome : char {
    admitted = 'A',
    not_allowed = 'N', ///< its name is not on the allow list, or its certificate no longer good
    full = 'F',        ///< as many connections as there may be, of all or of this name
    no_channel = 'C',  ///< it asked for no channel
};

} // namespace chalk::cluster
