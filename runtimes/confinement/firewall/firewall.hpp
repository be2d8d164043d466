/// Puts the student's rules in force where the caller may: on kernels with nftables, else with the old packet filter.
///
/// In the embedded runtime the sandbox's first process does it instead, from bytes that the host prepared
/// (docs/adr/0010); this is for everything else: a harness that has CAP_NET_ADMIN, and `chalk check confinement`.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/confinement/firewall/rules.hpp"

#include <optional>
#include <string_view>

namespace chalk::firewall {

enum class back_end { nftables, iptables_legacy };
[[nodiscard]] std::string_view to_string(back_end which) noexcept;

/// In the calling thread's network namespace, in place of what an earlier call set there under that name. With `only`,
/// no other back end is tried. error_class::harness with each back end's reason.
[[nodiscard]] result<back_end> apply(const std::vector<rule>& rules, uid_t student, std::string_view table,
                                     std::optional<back_end> only = std::nullopt);
/// Takes back what apply() did. error_class::harness.
[[nodiscard]] result<void> remove(back_end which, std::string_view table);

} // namespace chalk::firewall
