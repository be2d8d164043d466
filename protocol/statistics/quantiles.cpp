#include "protocol/statistics/quantiles.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace chalk::statistics {

void quantiles::add(std::uint64_t value, std::uint64_t times) {
    times_[value] += times;
    count_ += times;
}

void quantiles::add(const quantiles& other) {
    for (const auto& [value, times] : other.times_) {
        add(value, times);
    }
}

std::uint64_t quantiles::at(std::uint64_t percent) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted(times_.begin(), times_.end());
    std::sort(sorted.begin(), sorted.end());
    const std::uint64_t rank = (percent * count_ + 99) / 100; // from 1
    std::uint64_t seen = 0;
    for (const auto& [value, times] : sorted) {
        seen += times;
        if (seen >= rank) {
            return value;
        }
    }
    return sorted.empty() ? 0 : sorted.back().first;
}

} // namespace chalk::statistics
