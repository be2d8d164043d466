/// Sums over what a node has and its runs take, resource by resource. Pure; saturating, so that what a node says of
/// itself cannot wrap.
#pragma once

#include "actors/node/ledger.hpp"

#include <cstdint>

namespace chalk::actors {

/// Whether `wanted` is there when `used` of `capacity` is taken already. `used` may be more than there is.
[[nodiscard]] bool fits_beside(const resources& wanted, const resources& used, const resources& capacity) noexcept;

void take_up(resources& used, const resources& wanted) noexcept;
void give_back(resources& used, const resources& wanted) noexcept;

/// `what` and `share` (at least 0) of it more, each resource rounded down.
[[nodiscard]] resources enlarged(const resources& what, double share) noexcept;

/// The share of the scarcest resource that is used, in ten-thousandths; more than all of it counts as all.
inline constexpr std::uint32_t whole_share = 10'000;
[[nodiscard]] std::uint32_t dominant_share(const resources& used, const resources& capacity) noexcept;

} // namespace chalk::actors
