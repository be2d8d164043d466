/// SHA-256 of text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace chalk {

[[nodiscard]] std::array<std::uint8_t, 32> sha256(std::string_view text);
/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view text);

} // namespace chalk
