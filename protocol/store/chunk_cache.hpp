/// Chunks and manifests on disk, by their SHA-256, so that a node fetches each of them once.
///
/// DIR/objects/ab/<64 hex digits>  one each, mode 0400, complete from the moment it has its name
/// DIR/incoming/                   being written; the lock is held meanwhile, so who holds it may empty it
/// DIR/pins/                       what must stay (cache_pin.hpp)
/// DIR/lock                        who changes files holds it; has the ledger (cache_lock.hpp)
///
/// Owner: a node, one of these for the folder; other processes may have theirs. Thread-safe. When it dies, nothing is
/// lost: all of it is in the files. A process may be killed at any moment: the next that opens the cache, or that
/// finds the ledger open, removes what is half-written and counts the files again.
///
/// Nothing is synced. A power cut may leave a file that is torn or empty under a right name; content is held against
/// its name whenever it is read, and what does not match is removed and counts as absent. So a cache costs no syncs,
/// and loses at most what can be fetched again.
///
/// Blocking: call it on a pool.
#pragma once

#include "protocol/core/units.hpp"
#include "protocol/store/cache_lock.hpp"
#include "protocol/store/cache_pin.hpp"
#include "protocol/store/tree_manifest.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::store {

struct cache_options {
    bytes cap;                          ///< of all files, each rounded up to whole pages of 4 KiB
    milliseconds lock_deadline{30'000}; ///< for the wait on other processes and threads
};

struct cache_usage {
    bytes total;
    std::size_t objects = 0;
};

class chunk_cache {
  public:
    /// Makes the folder (0700) where there is none. Removes what killed processes left, and counts.
    [[nodiscard]] static cache_result<std::unique_ptr<chunk_cache>> open(const std::filesystem::path& folder,
                                                                         const cache_options& options);
    chunk_cache(const chunk_cache&) = delete;
    chunk_cache& operator=(const chunk_cache&) = delete;

    /// Fine also when it is there already. Makes room by removing what was used least recently and is not pinned.
    /// ::mismatch when `data` is not what `name` says, ::full when all else is pinned; then nothing was removed.
    [[nodiscard]] cache_result<void> put(const chunk_digest& name, std::string_view data);
    [[nodiscard]] cache_result<void> put(const tree_manifest& tree);

    /// The content, held against its name; nullopt: absent, or damaged and removed.
    [[nodiscard]] cache_result<std::optional<std::string>> get(const chunk_digest& name);
    /// A manifest that was put; nullopt: absent or damaged.
    [[nodiscard]] cache_result<std::optional<tree_manifest>> get(const tree_digest& name);

    /// Whether get() would find a file of this size. Its content is not looked at. With a size, since a file of another
    /// one is torn, or no chunk of the tree that says so.
    [[nodiscard]] bool holds(const chunk_need& what) const;

    /// Keeps these, whether they are there yet or not. Pin first, then look and fetch: nothing goes in between.
    [[nodiscard]] cache_result<cache_pin> pin(const std::vector<chunk_digest>& chunks);
    /// The manifest and all its chunks.
    [[nodiscard]] cache_result<cache_pin> pin(const tree_manifest& tree);

    /// Counted from the files.
    [[nodiscard]] cache_result<cache_usage> usage();

  private:
    struct object;

    chunk_cache(std::filesystem::path folder, const cache_options& options)
        : folder_(std::move(folder)), options_(options) {}

    [[nodiscard]] std::filesystem::path path_of(const chunk_digest& name) const;
    [[nodiscard]] cache_failure disk_trouble(std::string_view doing, const std::filesystem::path& what) const;
    [[nodiscard]] cache_result<cache_lock> lock();
    [[nodiscard]] cache_result<void> make_folders() const;
    // With the lock held:
    void empty_incoming() const;
    [[nodiscard]] cache_result<std::vector<object>> list_objects() const;
    [[nodiscard]] cache_result<bytes> count(cache_lock& held) const;
    [[nodiscard]] cache_result<bytes> make_room(cache_lock& held, bytes total, bytes needed) const;
    [[nodiscard]] cache_result<bytes> remove_object(cache_lock& held, const chunk_digest& name) const;
    [[nodiscard]] cache_result<void> write_object(const chunk_digest& name, std::string_view data) const;
    // Takes the lock. Looks again, since another process may have mended it.
    [[nodiscard]] cache_result<void> remove_damaged(const chunk_digest& name);

    std::filesystem::path folder_;
    cache_options options_;
    std::timed_mutex mutex_; ///< of this process's threads, part of the lock
};

} // namespace chalk::store
