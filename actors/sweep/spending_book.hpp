/// What a sweep may spend on models, what its runs have spent and what those under way have been promised. A run starts
/// only when what it may spend still fits. Pure.
///
/// Owner: the sweep actor. The journal has the same figures on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace chalk::actors {

struct amount {
    std::uint64_t tokens = 0;
    double usd = 0;
};

struct spending_limits {
    std::optional<std::uint64_t> tokens;
    std::optional<double> usd;
};

class spending_book {
  public:
    using key = std::uint64_t; ///< names one attempt

    explicit spending_book(spending_limits limits, amount spent_before = {}) : limits_(limits), spent_(spent_before) {}

    enum class answer {
        granted,
        wait, ///< it does not fit while others hold what they were promised
        never ///< it does not fit although nobody is promised anything
    };
    [[nodiscard]] answer reserve(key who, amount wanted);
    /// `who` has ended and spent this; what was promised beyond it is free again.
    void settle(key who, amount spent);

    [[nodiscard]] const amount& spent() const noexcept { return spent_; }
    [[nodiscard]] const amount& promised() const noexcept { return promised_; }

  private:
    [[nodiscard]] bool fits(amount wanted, amount promised) const noexcept;

    spending_limits limits_;
    amount spent_;
    amount promised_;
    std::unordered_map<key, amount> by_key_;
};

} // namespace chalk::actors
