/// Carries `chalk sweep` and `chalk sweep resume` out.
#pragma once

#include "cli/commands.hpp"
#include "cli/sweep/options.hpp"
#include "protocol/core/own_keys.hpp"

namespace chalk::cli {

/// A new sweep in options.folder, or with --dry-run its plan.
[[nodiscard]] exit_code execute_sweep(const sweep_options& options, const own_keys& keys);

/// Goes on with the sweep in options.folder.
[[nodiscard]] exit_code resume_sweep(const sweep_options& options, const own_keys& keys);

} // namespace chalk::cli
