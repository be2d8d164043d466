#include "protocol/core/sha256.hpp"

#include <openssl/sha.h>

namespace chalk {

std::array<std::uint8_t, 32> sha256(std::string_view text) {
    std::array<std::uint8_t, 32> sum{};
    static_assert(sum.size() == SHA256_DIGEST_LENGTH);
    ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), sum.data());
    return sum;
}

std::string sha256_hex(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (const auto byte : sha256(text)) {
        hex += digits[byte >> 4U];
        hex += digits[byte & 0xfU];
    }
    return hex;
}

} // namespace chalk
