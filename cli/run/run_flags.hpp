/// The flags by which runs are started, alike for `chalk run` and `chalk sweep`.
#pragma once

#include "cli/run/options.hpp"

#include <CLI/CLI.hpp>

namespace chalk::cli {

/// `o` outlives the parse.
void add_run_flags(CLI::App& command, run_options& o);

} // namespace chalk::cli
