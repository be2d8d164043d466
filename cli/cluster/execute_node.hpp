/// Carries `chalk node` out.
#pragma once

#include "cli/cluster/node_options.hpp"
#include "cli/commands.hpp"
#include "protocol/core/own_keys.hpp"

namespace chalk::cli {

/// Until it is told to end (SIGINT, SIGTERM), or with `once` until a sweep is over.
[[nodiscard]] exit_code execute_node(const node_options& options, const own_keys& keys);

} // namespace chalk::cli
