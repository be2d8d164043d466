#include "protocol/cluster/refusal.hpp"

#include <array>

namespace chalk::cluster {

std::string_view name_of(refusal_reason reason) noexcept {
    constexpr std::array<std::string_view, refusal_reasons> names{
        "too_fast",        "pushed_out",     "too_slow",          "left",          "not_tls",
        "tls_version",     "no_certificate", "foreign_authority", "not_yet_valid", "expired",
        "revoked",         "stale_list",     "not_a_node",        "wrong_use",     "no_single_name",
        "bad_certificate", "not_allowed",    "no_channel",        "too_many",      "no_resources"};
    return names[static_cast<std::size_t>(reason)];
}

bool is_about_certificate(refusal_reason reason) noexcept {
    return reason >= refusal_reason::no_certificate && reason <= refusal_reason::bad_certificate;
}

} // namespace chalk::cluster
