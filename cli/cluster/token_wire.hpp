/// A fencing token as the bulk connection carries it: one number of 64 bits.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "protocol/store/bulk_messages.hpp"

#include <cstdint>

namespace chalk::cli {

/// Epochs are processes that have opened a journal, counts assignments of one of them: 2^24 and 2^40 are enough.
inline constexpr unsigned token_count_bits = 40;

[[nodiscard]] constexpr store::result_token to_wire(const actors::fencing_token& token) noexcept {
    return store::result_token{token.epoch << token_count_bits | token.count};
}

[[nodiscard]] constexpr actors::fencing_token from_wire(store::result_token token) noexcept {
    const auto number = static_cast<std::uint64_t>(token);
    return {number >> token_count_bits, number & ((std::uint64_t{1} << token_count_bits) - 1)};
}

} // namespace chalk::cli
