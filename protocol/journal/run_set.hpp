/// A set of run numbers: one bit for each run of the sweep, so that ten million finished runs take 1.25 MB.
#pragma once

#include "protocol/journal/records.hpp"

#include <cstddef>
#include <vector>

namespace chalk::journal {

class run_set {
  public:
    run_set() = default;
    explicit run_set(std::uint64_t total_runs) : bits_(static_cast<std::size_t>(total_runs)) {}

    /// Numbers at or above the total are no members and cannot be added.
    bool insert(run_number run) {
        const auto at = static_cast<std::size_t>(run);
        if (at >= bits_.size() || bits_[at]) {
            return false;
        }
        bits_[at] = true;
        ++count_;
        return true;
    }
    void erase(run_number run) {
        if (contains(run)) {
            bits_[static_cast<std::size_t>(run)] = false;
            --count_;
        }
    }
    [[nodiscard]] bool contains(run_number run) const {
        const auto at = static_cast<std::size_t>(run);
        return at < bits_.size() && bits_[at];
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::size_t total() const noexcept { return bits_.size(); }

  private:
    std::vector<bool> bits_;
    std::size_t count_ = 0;
};

} // namespace chalk::journal
