/// What this process holds at the moment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chalk::cli::bench {

/// 0 where /proc does not say.
[[nodiscard]] std::uint64_t resident_bytes();
/// Throws std::filesystem::filesystem_error where /proc does not say.
[[nodiscard]] std::size_t open_descriptors();

} // namespace chalk::cli::bench
