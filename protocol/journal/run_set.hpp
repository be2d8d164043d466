/// A set of run numbers: one bit a run where they lie close together, so that ten million finished runs take 1.3 MB.
/// Numbers have gaps where a sweep's filters leave cells out.
#pragma once

#include "protocol/journal/records.hpp"

#include <array>
#include <cstddef>
#include <unordered_map>

namespace chalk::journal {

class run_set {
  public:
    /// False: it was there already.
    bool insert(run_number run) {
        auto& word = word_of(blocks_[block(run)], run);
        const bool is_new = (word & bit(run)) == 0;
        word |= bit(run);
        count_ += is_new ? 1 : 0;
        return is_new;
    }
    void erase(run_number run) {
        if (contains(run)) {
            word_of(blocks_[block(run)], run) &= ~bit(run);
            --count_;
        }
    }
    [[nodiscard]] bool contains(run_number run) const {
        const auto found = blocks_.find(block(run));
        return found != blocks_.end() && (found->second[word_index(run)] & bit(run)) != 0;
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

  private:
    static constexpr std::uint64_t words = 64;
    static constexpr std::uint64_t word_bits = 64;
    using bits = std::array<std::uint64_t, words>;

    static std::uint64_t block(run_number run) { return static_cast<std::uint64_t>(run) / (words * word_bits); }
    static std::size_t word_index(run_number run) {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(run) / word_bits % words);
    }
    static std::uint64_t bit(run_number run) {
        return std::uint64_t{1} << (static_cast<std::uint64_t>(run) % word_bits);
    }
    static std::uint64_t& word_of(bits& in, run_number run) { return in[word_index(run)]; }

    std::unordered_map<std::uint64_t, bits> blocks_;
    std::size_t count_ = 0;
};

} // namespace chalk::journal
