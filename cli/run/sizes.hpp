/// Sizes as people write them: "4GiB", "512 MiB", "2G", "1000000".
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <string>
#include <string_view>

namespace chalk::cli {

/// Units K, M, G, T with or without "iB" or "B", all powers of 1,024. error_class::config says what was expected.
[[nodiscard]] result<bytes> parse_size(std::string_view text);

/// "3.5 GiB".
[[nodiscard]] std::string format_size(bytes size);

} // namespace chalk::cli
