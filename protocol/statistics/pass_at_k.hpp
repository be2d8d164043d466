/// pass@k: the chance that at least one of k runs passes; pass^k: the chance that all k pass. Both without bias, from n
/// >= k runs of which c passed: 1 - C(n-c, k) / C(n, k), and C(c, k) / C(n, k).
#pragma once

#include <cstdint>
#include <vector>

namespace chalk::statistics {

/// 1 <= k <= n, c <= n.
[[nodiscard]] double pass_at_k(std::uint64_t n, std::uint64_t c, std::uint64_t k);
[[nodiscard]] double pass_hat_k(std::uint64_t n, std::uint64_t c, std::uint64_t k);

/// The k that are reported: 1 to 10, then 20, 50, 100, 200, 500, ..., and `repeats` itself; none above `repeats`.
[[nodiscard]] std::vector<std::uint64_t> reported_k(std::uint64_t repeats);

} // namespace chalk::statistics
