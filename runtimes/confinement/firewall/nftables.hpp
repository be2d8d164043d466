/// Rules as one nftables transaction, in the bytes that the kernel takes (linux/netfilter/nf_tables.h). Made once on
/// the host and replayed in each sandbox: no library and no program is needed there, and it costs well under a
/// millisecond.
#pragma once

#include "runtimes/confinement/firewall/rules.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace chalk::firewall {

/// The table of a sandbox's student, and of `chalk check confinement` beside it.
inline constexpr std::string_view student_table = "chalk_student";
inline constexpr std::string_view check_table = "chalk_check";

/// A table of family inet named `table` that holds `rules` for what `student` (an id of the user namespace that owns
/// the network namespace) sends. Fails with EEXIST, and changes nothing, when there is a table of that name.
[[nodiscard]] std::string nft_batch(const std::vector<rule>& rules, uid_t student,
                                    std::string_view table = student_table);

/// Removes the table; fails with ENOENT when there is none.
[[nodiscard]] std::string nft_removal(std::string_view table);

} // namespace chalk::firewall
