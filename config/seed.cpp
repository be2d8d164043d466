#include "config/seed.hpp"

#include "protocol/core/sha256.hpp"

#include <fmt/format.h>

namespace chalk::config {

std::uint64_t seed_of(std::uint64_t sweep_seed, std::uint64_t repeat) {
    constexpr unsigned seed_bits = 53;
    const auto sum = sha256(fmt::format("seed {} repeat {}", sweep_seed, repeat));
    std::uint64_t seed = 0;
    for (std::size_t i = 0; i < sizeof seed; ++i) {
        seed = (seed << 8U) | sum.at(i);
    }
    return seed >> (64U - seed_bits);
}

} // namespace chalk::config
