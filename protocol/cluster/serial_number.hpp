/// The number by which a certificate is revoked.
#pragma once

#include "protocol/cluster/openssl_objects.hpp"
#include "protocol/core/result.hpp"

#include <compare>
#include <string>
#include <string_view>

namespace chalk::cluster {

/// 32 lower-case hex digits: 128 bits.
struct serial_number {
    std::string hex;
    friend auto operator<=>(const serial_number&, const serial_number&) = default;
};

/// error_class::harness.
[[nodiscard]] result<serial_number> random_serial();
/// error_class::config.
[[nodiscard]] result<serial_number> parse_serial(std::string_view text);

/// Null for want of memory alone.
[[nodiscard]] integer_owner to_asn1(const serial_number& serial);
/// error_class::config when it has more bits, or a sign.
[[nodiscard]] result<serial_number> serial_from(const ASN1_INTEGER* serial);

} // namespace chalk::cluster
