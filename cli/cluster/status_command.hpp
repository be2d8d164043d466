/// `chalk cluster status`: how the nodes of a sweep that runs stand.
#pragma once

#include "cli/commands.hpp"
#include "cli/show/terminal.hpp"
#include "protocol/core/json_text.hpp"

#include <string>

namespace chalk::cli {

void add_cluster_status_command(CLI::App& parent, exit_code& code);

/// A line a node, and how many runs are with them. `nodes` is the sweep's answer (docs/protocols/sweep-control.md).
[[nodiscard]] std::string nodes_page(const json& nodes, const page_style& style);

} // namespace chalk::cli
