/// A whole file as text.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <filesystem>
#include <string>

namespace chalk {

/// For files that a user names. error_class::config with the path and the cause: absent, a folder, not readable, larger
/// than `limit`.
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& file, bytes limit);

/// For files of the kernel's and of our own, which say nothing when they cannot be read.
[[nodiscard]] std::string read_or_empty(const std::filesystem::path& file);

} // namespace chalk
