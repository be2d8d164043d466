/// What one peer's bulk connections have moved, and what they hold in memory. Any thread may read it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace chalk::store {

class bulk_meter {
  public:
    std::atomic<std::uint64_t> received{0}; ///< bytes of frames, over all connections
    std::atomic<std::uint64_t> sent{0};

    /// Bytes that are queued or worked on now: frames to be written, messages that wait for the disk.
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
    [[nodiscard]] std::uint64_t most_held() const noexcept { return most_held_; }

    /// On the io thread alone.
    void hold(std::uint64_t size) noexcept {
        held_ += size;
        most_held_ = std::max<std::uint64_t>(most_held_, held_);
    }
    void let_go(std::uint64_t size) noexcept { held_ -= size; }

  private:
    std::atomic<std::uint64_t> held_{0};
    std::atomic<std::uint64_t> most_held_{0};
};

} // namespace chalk::store
