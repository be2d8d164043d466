/// How long a node may go on without its coordinator, and how long the coordinator waits until it surely does not. One
/// setting, the length, says both how fast a lost node is replaced and how long a lost coordinator is survived.
/// docs/adr/0014-leases-and-fencing.md has the reasons.
///
/// Owner: the cluster actor's settings; a node is told the length with each lease.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <chrono>
#include <cstdint>

namespace chalk::actors {

struct lease_terms {
    milliseconds length{60'000};
    /// The node begins to stop its runs so long before the end: its time to kill and remove them.
    milliseconds stop_margin{5'000};
    /// The coordinator waits so much longer than the clocks alone ask for: a node that got no cpu when it had to stop.
    milliseconds spare{5'000};
    /// By how much each machine's clock may be off true time, in parts per million.
    std::uint32_t drift{1'000};

    static constexpr milliseconds shortest{1'000};
    static constexpr milliseconds longest{7 * 24 * 3'600'000};

    /// Of a lease that was granted or renewed now: how long the coordinator waits until it has surely ended.
    [[nodiscard]] milliseconds sure_wait(milliseconds of_length) const noexcept;
    /// A node asks for a renewal so often: several may be lost before its lease is.
    [[nodiscard]] static constexpr milliseconds renew_every(milliseconds length) noexcept { return length / 6; }
    /// A node that was not heard of for so long is suspect: it gets no new runs.
    [[nodiscard]] static constexpr milliseconds suspect_after(milliseconds length) noexcept { return length * 5 / 12; }
};

/// What goes with a lease of that length: a quarter of it to stop runs in, 5 s at most, and 1 s to 5 s to spare.
[[nodiscard]] lease_terms terms_for(milliseconds length) noexcept;

/// The terms, when they can be kept; error_class::config names what cannot and between what it may be.
[[nodiscard]] result<lease_terms> check_lease_terms(const lease_terms& terms);

} // namespace chalk::actors
