/// Why a connection was not let in, or was cut off later: to be counted, and for an operator to read. One set of words
/// for whoever is refused, by a front or by a dialer (docs/protocols/cluster-transport.md).
#pragma once

#include "protocol/cluster/node_name.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::cluster {

enum class refusal_reason : std::uint8_t {
    too_fast,    ///< its address connects more often than it may
    pushed_out,  ///< newer ones needed its place before it had authenticated
    too_slow,    ///< not authenticated at the deadline
    left,        ///< it went away before it had authenticated
    not_tls,     ///< its bytes make no handshake
    tls_version, ///< nothing but TLS 1.3 is spoken

    // What peer_check finds:
    no_certificate,
    foreign_authority, ///< another authority's certificate, or nobody's
    not_yet_valid,     ///< or a clock is wrong
    expired,           ///< its certificate, or the authority
    revoked,
    stale_list,      ///< our own list of revoked certificates cannot be used
    not_a_node,      ///< an authority's certificate in a node's place
    wrong_use,       ///< not for this side of TLS
    no_single_name,  ///< none, several, or one that no node can have
    bad_certificate, ///< anything else; the message says what
    not_allowed,     ///< a good certificate whose name the allow list lacks

    no_channel,   ///< no channel of ours asked for
    too_many,     ///< as many connections as there may be
    no_resources, ///< we are out of descriptors
};
inline constexpr std::size_t refusal_reasons = static_cast<std::size_t>(refusal_reason::no_resources) + 1;

/// As it is in metrics: `too_fast`.
[[nodiscard]] std::string_view name_of(refusal_reason reason) noexcept;
/// One of those that peer_check finds, but for `not_allowed`.
[[nodiscard]] bool is_about_certificate(refusal_reason reason) noexcept;

struct refusal {
    refusal_reason reason = refusal_reason::not_tls;
    std::string address;             ///< `ADDR:PORT` of the peer
    std::optional<node_name> name{}; ///< of its certificate, where that is or was good
    std::string detail{};            ///< for a person; may be empty
    bool was_open = false;           ///< it had been let in, and a reload cut it off
};

} // namespace chalk::cluster
