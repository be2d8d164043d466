/// What this process holds at the moment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chalk::cli::bench {

[[nodiscard]] std::uint64_t resident_bytes();
[[nodiscard]] std::size_t open_descriptors();

} // namespace chalk::cli::bench
