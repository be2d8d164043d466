/// A run's events on disk until its backend has them: one file a stream, a line that says whose they are and then a
/// line an event. It is there from the run's first event on, so that a chalk that is killed loses none, and goes when
/// all was taken. What is left is sent by `chalk backend send`.
///
/// The file is locked (flock) by the chalk that writes or sends it. Mode 0600 in a folder of mode 0700: it holds what
/// the transcript holds.
#pragma once

#include "protocol/backend/target.hpp"
#include "protocol/core/unique_fd.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::backend {

/// $XDG_STATE_HOME/chalk/backend, or /var/lib/chalk/backend for root and ~/.local/state/chalk/backend for others.
[[nodiscard]] std::filesystem::path default_spool_folder();

/// `<run id>-<stream id>.jsonl` in the folder.
[[nodiscard]] std::filesystem::path spool_path(const std::filesystem::path& folder, const stream& of);

/// Owner: the backend sink, and whatever writes for it on the pool. Thread-safe.
class spool {
  public:
    /// Touches nothing yet.
    spool(const std::filesystem::path& folder, const stream& of, const std::string& uri);
    spool(const spool&) = delete;
    spool& operator=(const spool&) = delete;
    /// Writes what is not written yet.
    ~spool();

    /// Returns at once; true: nobody writes, so call write_out soon.
    [[nodiscard]] bool add(std::string_view line);
    /// Blocking: writes until nothing is left to write, and makes it durable. error_class::harness with path and cause,
    /// once: from then on nothing is written.
    [[nodiscard]] result<void> write_out();
    /// Blocking. Removes the file; nothing is written from now on.
    void remove();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    [[nodiscard]] result<void> write(std::string_view text);
    [[nodiscard]] result<void> create();

    std::filesystem::path path_;
    std::mutex mutex_;
    std::string waiting_;     ///< guarded by mutex_
    bool has_events_ = false; ///< guarded by mutex_
    bool writing_ = false;    ///< guarded by mutex_
    bool removed_ = false;    ///< guarded by mutex_
    std::mutex file_mutex_;   ///< held while the file is worked on
    unique_fd fd_;            ///< guarded by file_mutex_
    bool broken_ = false;     ///< guarded by file_mutex_; a write failed: what came after would leave a gap
};

/// A spool as it was found, locked against other chalks while it is held.
struct found_spool {
    std::filesystem::path path;
    stream of;
    std::string uri;
    std::vector<std::string> events; ///< lines; one that was cut off by a crash is left out
    unique_fd lock;
};

/// The spools of a folder, in the order of their names. Empty where there is no folder. error_class::harness.
[[nodiscard]] result<std::vector<std::filesystem::path>> list_spools(const std::filesystem::path& folder);

/// nullopt: another chalk has it. error_class::config: not a spool, or it cannot be read.
[[nodiscard]] result<std::optional<found_spool>> take_spool(const std::filesystem::path& path);

} // namespace chalk::backend
