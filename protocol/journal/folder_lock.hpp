/// DIR/lock: held by the process that runs the sweep in DIR. The kernel lets go of it when that process dies, however
/// it dies.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"

#include <filesystem>

namespace chalk::journal {

class folder_lock {
  public:
    /// error_class::config when another process holds it; the message names that process and its host.
    [[nodiscard]] static result<folder_lock> take(const std::filesystem::path& folder);

    /// Who runs a sweep in `folder` ("process 4711 on box, since 2026-..."), empty when nobody does. For `status`.
    [[nodiscard]] static std::string holder(const std::filesystem::path& folder);

  private:
    explicit folder_lock(unique_fd file) : file_(std::move(file)) {}
    unique_fd file_; // closing it lets go; the file stays, since removing it would let two processes hold it
};

} // namespace chalk::journal
