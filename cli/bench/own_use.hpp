/// What this process holds at the moment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chalk::cli::bench {

/// 0 where /proc does not say.
[[nodiscard]] std::uint64_t resident_bytes();
/// The most that it held since it began, or since forget_peak_memory() where the kernel lets a process forget.
[[nodiscard]] std::uint64_t peak_resident_bytes();
void forget_peak_memory();
/// Of all threads, since it began.
[[nodiscard]] double used_cpu_seconds();
/// Throws std::filesystem::filesystem_error where /proc does not say.
[[nodiscard]] std::size_t open_descriptors();

} // namespace chalk::cli::bench
