/// DIR/lock of a chunk cache: whoever changes the cache's files holds it meanwhile. In it is the ledger: how many bytes
/// the files take, and whether somebody died while they changed.
///
/// Threads and processes alike are kept apart by it. The kernel lets go of it when its holder dies.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"
#include "protocol/store/cache_failure.hpp"

#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace chalk::store {

class cache_lock {
  public:
    /// `mutex` is the cache's, for the threads of this process: waiting for them costs no looking again and again.
    /// cache_trouble::busy at the deadline, ::disk.
    [[nodiscard]] static cache_result<cache_lock> take(const std::filesystem::path& folder, std::timed_mutex& mutex,
                                                       milliseconds deadline);
    cache_lock(cache_lock&&) noexcept = default;
    cache_lock& operator=(cache_lock&&) = delete;
    cache_lock(const cache_lock&) = delete;
    cache_lock& operator=(const cache_lock&) = delete;
    /// Lets go.
    ~cache_lock();

    /// What the last holder left. nullopt: nobody knows, so count the files. That is so after a holder was killed
    /// between begin_change and end_change, and after a restart of the machine, which may have lost files that were
    /// written and counted.
    [[nodiscard]] std::optional<bytes> read_total() const;

    /// Before files change, and after, with what they take then.
    [[nodiscard]] cache_result<void> begin_change();
    [[nodiscard]] cache_result<void> end_change(bytes total);

  private:
    cache_lock(std::filesystem::path file, std::unique_lock<std::timed_mutex> threads, unique_fd fd)
        : file_(std::move(file)), threads_(std::move(threads)), fd_(std::move(fd)) {}
    [[nodiscard]] cache_result<void> write(std::string_view record);

    std::filesystem::path file_;
    std::unique_lock<std::timed_mutex> threads_;
    unique_fd fd_;
};

} // namespace chalk::store
