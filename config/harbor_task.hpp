/// A task folder in the Harbor layout, as an environment: task.toml, instruction.md, tests/test.sh, solution/solve.sh.
/// The package chalk.harbor (sdk/python) presents it; here is what of it chalk can map, and why not the rest.
/// docs/howto/harbor-tasks.md.
#pragma once

#include "config/environment_manifest.hpp"

#include <filesystem>
#include <string_view>

namespace chalk::config {

/// The folder has a task.toml, and nothing that makes it an environment of chalk's own.
[[nodiscard]] bool is_harbor_task(const std::filesystem::path& folder);

/// error_class::config: file, line where there is one, key or file that cannot be mapped, and why.
[[nodiscard]] result<environment_manifest> load_harbor_task(const std::filesystem::path& folder);

/// `text` is a task.toml's; `name` is for messages.
[[nodiscard]] result<environment_manifest> parse_harbor_task(std::string_view text, const std::string& name);

} // namespace chalk::config
