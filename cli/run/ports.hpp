/// The websocket ports of a command's runs, checked before anything starts.
#pragma once

#include "protocol/core/result.hpp"

#include <cstddef>
#include <cstdint>

namespace chalk::cli {

/// `count` ports from `first` on, on 127.0.0.1. error_class::config names the first one that is taken.
[[nodiscard]] result<void> check_ports(std::uint16_t first, std::size_t count);

} // namespace chalk::cli
