/// Exact quantiles of many whole numbers: how often each one came. Milliseconds repeat, so that ten million take the
/// room of the distinct ones.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace chalk::statistics {

class quantiles {
  public:
    void add(std::uint64_t value) { add(value, 1); }
    void add(const quantiles& other);

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// The nearest rank: the smallest value that at least `percent` of all values do not exceed. count() > 0.
    [[nodiscard]] std::uint64_t at(std::uint64_t percent) const;

  private:
    void add(std::uint64_t value, std::uint64_t times);

    std::uint64_t count_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> times_;
};

} // namespace chalk::statistics
