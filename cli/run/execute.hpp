/// Carries `chalk run` out: prepares, starts the tree, waits for it or for Ctrl-C, reports.
#pragma once

#include "cli/commands.hpp"
#include "cli/run/options.hpp"

namespace chalk::cli {

[[nodiscard]] exit_code execute_run(const run_options& options, const own_keys& keys);

} // namespace chalk::cli
