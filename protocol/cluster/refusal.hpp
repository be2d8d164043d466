/// Why a connection was not let in, or was cut off later: to be counted, and for an operator to read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chalk::cluster {

enum class refusal_reason : std::uint8_t {
    too_fast,        ///< its address connects more often than it may
    pushed_out,      ///< newer ones needed its place before it had authenticated
    too_slow,        ///< not authenticated at the deadline
    left,            ///< it went away before it had authenticated
    not_tls,         ///< its bytes make no handshake
    tls_version,     ///< nothing but TLS 1.3 is spoken
    no_certificate,  ///< it showed none
    foreign_ca,      ///< not of our authority
    expired,         ///< its certificate, or the revocation list
    not_yet_valid,   ///< the same, or a clock is wrong
    revoked,         ///<
    bad_certificate, ///< for other causes
    no_name,         ///< no usable DNS name in its certificate
    not_allowed,     ///< not on the allow list
    no_channel,      ///< no channel of ours asked for
    too_many,        ///< as many connections as there may be
    no_resources,    ///< we are out of descriptors
};
inline constexpr std::size_t refusal_reasons = static_cast<std::size_t>(refusal_reason::no_resources) + 1;

/// As it is in metrics: `too_fast`.
[[nodiscard]] std::string_view name_of(refusal_reason reason) noexcept;

struct refusal {
    refusal_reason reason = refusal_reason::not_tls;
    std::string address;   ///< `ADDR:PORT` of the peer
    std::string name;      ///< of its certificate, where it got so far; then the certificate was good
    std::string detail;    ///< for a person; may be empty
    bool was_open = false; ///< it had been let in, and a reload cut it off
};

} // namespace chalk::cluster
