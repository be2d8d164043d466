/// An environment's folder: what it must hold, and what its pyproject.toml tells chalk ([tool.chalk]).
///
/// Layout: src/environment/ (a Python package, unless `command` names an executable), root_data/, intermediate_data/,
/// shared_data/, student_data/, pyproject.toml. None of the data folders has to exist. Or a task in the Harbor layout
/// (harbor_task.hpp).
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::config {

struct environment_manifest {
    /// Starts the environment host, from the environment's folder; empty: the Python package src/environment.
    std::vector<std::string> command;
    /// Absolute paths of the host that a sandbox must not show.
    std::vector<std::filesystem::path> mask;
    /// How long a step may take where the run config sets no limit.
    std::optional<seconds> step_time;
};

/// error_class::config with the file, its line and the cause.
[[nodiscard]] result<environment_manifest> load_environment_manifest(const std::filesystem::path& folder);

/// `text` is a pyproject.toml's; `name` is for messages. Other tools' tables are left alone; in [tool.chalk] an unknown
/// key is an error.
[[nodiscard]] result<environment_manifest> parse_environment_manifest(std::string_view text, const std::string& name);

} // namespace chalk::config
