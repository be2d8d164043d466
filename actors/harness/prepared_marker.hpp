/// The file that says a prepared sandbox is ready: /tmp/chalk_prepared_<run id>. Owner: the harness actor; it goes when
/// the run does.
#pragma once

#include "protocol/core/ids.hpp"

#include <filesystem>

namespace chalk::actors {

class prepared_marker {
  public:
    /// Replaces a stale one; follows no symlink, for the student can write to /tmp. error_class::harness.
    [[nodiscard]] static result<prepared_marker> make(const run_id& id);
    prepared_marker(prepared_marker&& other) noexcept;
    prepared_marker& operator=(prepared_marker&& other) noexcept;
    prepared_marker(const prepared_marker&) = delete;
    prepared_marker& operator=(const prepared_marker&) = delete;
    ~prepared_marker();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    explicit prepared_marker(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

} // namespace chalk::actors
