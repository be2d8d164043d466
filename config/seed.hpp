/// Seeds of runs.
#pragma once

#include <cstdint>

namespace chalk::config {

/// 2^53 - 1: no JSON reader rounds it.
inline constexpr std::uint64_t largest_seed = 9'007'199'254'740'991;

/// The seed of a repeat, from that of the sweep (or of `chalk run -n N`) and the repeat alone, by SHA-256; at most
/// largest_seed. The same repeat of all cells has the same seed (common random numbers): a comparison of cells is then
/// not blurred by the luck of their seeds.
[[nodiscard]] std::uint64_t seed_of(std::uint64_t sweep_seed, std::uint64_t repeat);

} // namespace chalk::config
