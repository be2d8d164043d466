/// --mount.
#pragma once

#include "runtimes/runtime.hpp"

#include <string>
#include <vector>

namespace chalk::cli {

/// Each SOURCE:TARGET:ro. error_class::config with the argument and what is wrong with it: another form, a source that
/// is no folder, a target that is not absolute or lies in what chalk itself mounts.
[[nodiscard]] result<std::vector<read_only_mount>> parse_mounts(const std::vector<std::string>& arguments);

} // namespace chalk::cli
