/// A folder under a temporary name that becomes the target, or goes when its owner dies. While its owner lives it is
/// locked (flock), so that others know what was left behind by a killed process from what is being made.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

namespace chalk::store {

inline constexpr std::string_view unfinished_extension = ".unfinished";

class unfinished_folder {
  public:
    /// Beside `target`, 0700. error_class::harness.
    [[nodiscard]] static result<unfinished_folder> make(const std::filesystem::path& target);
    unfinished_folder(unfinished_folder&& other) noexcept
        : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}
    unfinished_folder& operator=(unfinished_folder&&) = delete;
    unfinished_folder(const unfinished_folder&) = delete;
    unfinished_folder& operator=(const unfinished_folder&) = delete;
    ~unfinished_folder();

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// Renames it to `target`, which must not exist. error_class::harness.
    [[nodiscard]] result<void> finish(const std::filesystem::path& target);

  private:
    unfinished_folder(std::filesystem::path path, unique_fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    std::filesystem::path path_; ///< empty: finished, or moved from
    unique_fd fd_;
};

} // namespace chalk::store
