#include "protocol/store/digest.hpp"

namespace chalk::store {

namespace {

/// -1: none. Capitals are none, so that a sum has one spelling.
int value_of_hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

std::optional<sha256_digest> parse_sha256(std::string_view hex) {
    sha256_digest sum{};
    if (hex.size() != 2 * sum.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const int high = value_of_hex_digit(hex[2 * i]);
        const int low = value_of_hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        sum[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return sum;
}

} // namespace chalk::store
