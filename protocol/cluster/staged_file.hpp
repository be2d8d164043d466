/// A file that appears whole or not at all: written and synced under a name of its own, then renamed. So all that can
/// fail for want of room or rights has failed before anything that counts has changed.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

#include <sys/types.h>

namespace chalk::cluster {

class staged_file {
  public:
    /// Blocking. Beside `file`, as `.<its name>.new`; what an interrupted call left under that name goes, so the caller
    /// holds whatever lock the folder has. error_class::harness.
    [[nodiscard]] static result<staged_file> write(const std::filesystem::path& file, std::string_view text,
                                                   mode_t mode);

    staged_file(staged_file&& other) noexcept
        : file_(std::move(other.file_)), staged_(std::exchange(other.staged_, {})) {}
    staged_file(const staged_file&) = delete;
    staged_file& operator=(const staged_file&) = delete;
    staged_file& operator=(staged_file&&) = delete;
    /// Removes what was not put in place.
    ~staged_file();

    /// Takes the place of whatever has the file's name, durably. Blocking; error_class::harness.
    [[nodiscard]] result<void> put_in_place();

  private:
    staged_file(std::filesystem::path file, std::filesystem::path staged)
        : file_(std::move(file)), staged_(std::move(staged)) {}
    std::filesystem::path file_;
    std::filesystem::path staged_; ///< empty: in place
};

/// Makes the names in `folder` durable. Blocking; error_class::harness.
[[nodiscard]] result<void> sync_names(const std::filesystem::path& folder);

} // namespace chalk::cluster
