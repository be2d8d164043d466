#include "protocol/cluster/refusal.hpp"

#include <array>

namespace chalk::cluster {

std::string_view name_of(refusal_reason reason) noexcept {
    constexpr std::array<std::string_view, refusal_reasons> names{
        "too_fast",       "pushed_out",  "too_slow",   "left",          "not_tls",     "tls_version",
        "no_certificate", "foreign_ca",  "expired",    "not_yet_valid", "revoked",     "bad_certificate",
        "no_name",        "not_allowed", "no_channel", "too_many",      "no_resources"};
    return names[static_cast<std::size_t>(reason)];
}

} // namespace chalk::cluster
