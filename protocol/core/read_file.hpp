/// A whole file as text, for files that a user names.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <filesystem>
#include <string>

namespace chalk {

/// error_class::config with the path and the cause: absent, a folder, not readable, larger than `limit`.
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& file, bytes limit);

} // namespace chalk
