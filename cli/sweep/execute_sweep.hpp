/// Carries `chalk sweep` and `chalk sweep resume` out.
#pragma once

#include "cli/commands.hpp"
#include "cli/sweep/options.hpp"

namespace chalk::cli {

/// A new sweep in options.folder, or with --dry-run its plan.
[[nodiscard]] exit_code execute_sweep(const sweep_options& options);

/// Goes on with the sweep in options.folder.
[[nodiscard]] exit_code resume_sweep(const sweep_options& options);

} // namespace chalk::cli
