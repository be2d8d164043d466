/// What CLOCK_BOOTTIME says on one machine. It never goes back, nobody can set it, and it counts the time in which the
/// machine was suspended. Each machine's is a type of its own: what was read on one cannot be compared with what was
/// read on another. Nothing here reads a clock; the owner does, and hands the time in.
#pragma once

#include <chrono>

namespace chalk {

template<class Machine>
struct boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;
};

/// Of the machine that runs attempts, which is where its sandboxes are.
using node_time = boot_clock<struct node_machine>::time_point;

} // namespace chalk
