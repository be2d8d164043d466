#include "protocol/statistics/pass_at_k.hpp"

namespace chalk::statistics {

namespace {

/// C(of, k) / C(n, k), factor by factor from the largest: no binomial overflows.
double ratio(std::uint64_t of, std::uint64_t n, std::uint64_t k) {
    if (of < k) {
        return 0;
    }
    double product = 1;
    for (std::uint64_t i = 0; i < k; ++i) {
        product *= static_cast<double>(of - i) / static_cast<double>(n - i);
    }
    return product;
}

} // namespace

double pass_at_k(std::uint64_t n, std::uint64_t c, std::uint64_t k) {
    return 1 - ratio(n - c, n, k);
}

double pass_hat_k(std::uint64_t n, std::uint64_t c, std::uint64_t k) {
    return ratio(c, n, k);
}

std::vector<std::uint64_t> reported_k(std::uint64_t repeats) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t k = 1; k < repeats && k < 10; ++k) {
        all.push_back(k);
    }
    for (std::uint64_t decade = 10; decade < repeats; decade *= 10) {
        for (const std::uint64_t k : {decade, 2 * decade, 5 * decade}) {
            if (k < repeats) {
                all.push_back(k);
            }
        }
    }
    all.push_back(repeats);
    return all;
}

} // namespace chalk::statistics
