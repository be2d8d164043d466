/// A number that grows for ever, as a cluster's coordinator gives it out: what names a lease, or the assignment of an
/// attempt to a node. The journal keeps it and compares it, and reads nothing into it.
#pragma once

#include <compare>
#include <cstdint>

namespace chalk::journal {

struct assignment_token {
    std::uint64_t epoch = 0; ///< of the coordinator that gave it out: its journal_file::session()
    std::uint64_t count = 0; ///< within the epoch

    /// Both zero: an attempt of this machine, which was assigned to no node.
    [[nodiscard]] bool is_none() const noexcept { return epoch == 0 && count == 0; }
    friend auto operator<=>(const assignment_token&, const assignment_token&) = default;
};

} // namespace chalk::journal
