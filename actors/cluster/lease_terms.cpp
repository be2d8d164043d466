#include "actors/cluster/lease_terms.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

namespace {

constexpr std::int64_t drift_parts = 1'000'000;
constexpr std::uint32_t most_drift = 100'000;

} // namespace

milliseconds lease_terms::sure_wait(milliseconds of_length) const noexcept {
    // The node's clock may be slow while ours is fast: length * (1 + drift) / (1 - drift), rounded up.
    const std::int64_t fast = drift_parts + drift;
    const std::int64_t slow = drift_parts - drift;
    return milliseconds((of_length.count() * fast + slow - 1) / slow) + spare;
}

lease_terms terms_for(milliseconds length) noexcept {
    lease_terms terms;
    terms.length = length;
    terms.stop_margin = std::min(terms.stop_margin, length / 4);
    terms.spare = std::clamp(length / 4, milliseconds(1'000), terms.spare);
    return terms;
}

result<lease_terms> check_lease_terms(const lease_terms& terms) {
    if (terms.length < lease_terms::shortest || terms.length > lease_terms::longest) {
        return config_failure(fmt::format("a lease lasts {} ms to {} ms, not {} ms", lease_terms::shortest.count(),
                                          lease_terms::longest.count(), terms.length.count()));
    }
    if (terms.stop_margin < milliseconds(0) || terms.stop_margin > terms.length / 2) {
        return config_failure(fmt::format("a node may take 0 ms to half of its lease ({} ms) to stop its runs, not {} "
                                          "ms",
                                          (terms.length / 2).count(), terms.stop_margin.count()));
    }
    if (terms.spare < milliseconds(0) || terms.spare > lease_terms::longest) {
        return config_failure(fmt::format("a coordinator waits 0 ms to {} ms longer than a lease, not {} ms",
                                          lease_terms::longest.count(), terms.spare.count()));
    }
    if (terms.drift > most_drift) {
        return config_failure(
            fmt::format("a clock may be off by at most {} parts in a million, not {}", most_drift, terms.drift));
    }
    return terms;
}

} // namespace chalk::actors
