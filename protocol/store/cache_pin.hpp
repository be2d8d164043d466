/// Chunks that must stay in a cache while somebody needs them: a file in DIR/pins with their names, locked by the
/// process that made it. So every process that makes room sees them, and those of a process that was killed end with
/// it.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/store/cache_failure.hpp"
#include "protocol/store/digest.hpp"

#include <filesystem>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chalk::store {

/// Owner: who uses the chunks. Lets go of them when it dies.
class cache_pin {
  public:
    cache_pin(cache_pin&&) noexcept = default;
    cache_pin& operator=(cache_pin&& other) noexcept {
        std::swap(file_, other.file_);
        std::swap(fd_, other.fd_);
        return *this;
    }
    cache_pin(const cache_pin&) = delete;
    cache_pin& operator=(const cache_pin&) = delete;
    ~cache_pin();

    /// `pins` is the folder of pins; the cache's lock is held.
    [[nodiscard]] static cache_result<cache_pin> make(const std::filesystem::path& pins,
                                                      const std::vector<chunk_digest>& chunks);

  private:
    cache_pin(std::filesystem::path file, unique_fd fd) : file_(std::move(file)), fd_(std::move(fd)) {}
    std::filesystem::path file_;
    unique_fd fd_; ///< holds the lock; not open: moved from
};

/// All that is pinned; pins of the dead are removed. The cache's lock is held. cache_trouble::disk when a living pin
/// cannot be read: then nothing may be evicted.
[[nodiscard]] cache_result<std::unordered_set<chunk_digest>> read_pins(const std::filesystem::path& pins);

} // namespace chalk::store
