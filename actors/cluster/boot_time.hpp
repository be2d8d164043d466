/// The two clocks that a lease is counted by, one on each side (protocol/core/boot_time.hpp): a node's, and its
/// coordinator's. They are types that do not mix.
#pragma once

#include "protocol/core/boot_time.hpp"

namespace chalk::actors {

using chalk::node_time;
using coordinator_time = boot_clock<struct coordinator_machine>::time_point;

} // namespace chalk::actors
