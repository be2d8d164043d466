/// Strong units. Durations are std::chrono's; sizes are `bytes`.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace chalk {

/// A size in bytes. `limit == bytes{0}` never means "no limit": use std::optional for that.
struct bytes {
    std::uint64_t count = 0;
    friend auto operator<=>(const bytes&, const bytes&) = default;
    friend constexpr bytes operator+(bytes a, bytes b) { return {a.count + b.count}; }
    friend constexpr bytes operator-(bytes a, bytes b) { return {a.count > b.count ? a.count - b.count : 0}; }
};

constexpr bytes operator""_KiB(unsigned long long n) {
    return {n << 10U};
}
constexpr bytes operator""_MiB(unsigned long long n) {
    return {n << 20U};
}
constexpr bytes operator""_GiB(unsigned long long n) {
    return {n << 30U};
}

using std::chrono::milliseconds;
using std::chrono::seconds;
using wall_time = std::chrono::system_clock::time_point;

} // namespace chalk
