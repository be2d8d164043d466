/// Rules for kernels that know the old packet filter alone (gVisor's does): the tables of iptables-legacy, set by the
/// socket option that this program uses itself, so that none has to be in the image (linux/netfilter/x_tables.h).
///
/// Such kernels may lack the target REJECT: what is refused is dropped, and the student's connections time out.
#pragma once

#include "runtimes/confinement/firewall/rules.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace chalk::firewall {

/// The table "filter" of one family. Its offsets are those of the three hooks that the table has: input, forward,
/// output.
struct legacy_table {
    std::string entries;
    std::uint32_t count = 0;
    std::array<std::uint32_t, 3> first_rule{};
    std::array<std::uint32_t, 3> policy{};
};

/// Pure. The table with `rules` for what `student` sends, those left out that concern the other family. An empty list
/// gives the table as it is before anyone touches it.
[[nodiscard]] legacy_table make_legacy_table(const std::vector<rule>& rules, uid_t student, bool v6);

/// Sets both families' tables in the calling thread's network namespace (CAP_NET_ADMIN, CAP_NET_RAW). 0, or an error
/// number; EEXIST where somebody else has rules there, which are left alone. A kernel without IPv6 needs none for it.
[[nodiscard]] int set_legacy_rules(const std::vector<rule>& rules, uid_t student) noexcept;
/// Back to empty tables.
[[nodiscard]] int clear_legacy_rules() noexcept;

} // namespace chalk::firewall
