/// A fencing token as the bulk connection carries it: one number of 64 bits, which is all that both sides need to mean
/// the same assignment. It cannot be turned back.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "protocol/store/bulk_messages.hpp"

#include <cstdint>

namespace chalk::actors {

/// Two tokens of the same epoch never share a number; of two epochs they do by chance alone, 1 in 2^64.
[[nodiscard]] constexpr store::result_token to_wire(const fencing_token& token) noexcept {
    // The finalizer of splitmix64 (https://prng.di.unimi.it/splitmix64.c): one to one.
    const auto mixed = [](std::uint64_t x) {
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31U);
    };
    return store::result_token{mixed(mixed(token.epoch) + token.count)};
}

} // namespace chalk::actors
