/// The keys of a run config that name files: their paths resolved, their files looked at.
#pragma once

#include "config/json_document.hpp"

#include <filesystem>
#include <string>

namespace chalk::config {

/// `path` below `folder` (empty: the working directory), absolute and normal.
[[nodiscard]] std::filesystem::path resolve_path(const std::filesystem::path& folder,
                                                 const std::filesystem::path& path);

/// The environment's folder, absolute, once it is known to be one. error_class::config without a place.
[[nodiscard]] result<std::filesystem::path> find_environment(const std::filesystem::path& written,
                                                             const std::filesystem::path& folder);

/// A fake model's script that stands at `path` of `document`, or in the file that it names; `place` is what a message
/// about a file that cannot be read begins with.
[[nodiscard]] result<json> find_script(const json_document& document, const std::string& path, const json& script,
                                       const std::filesystem::path& folder, const std::string& place);

} // namespace chalk::config
