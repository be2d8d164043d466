/// A cluster's metrics as a page in the OpenMetrics text format. Pure. Names and meanings: docs/howto/cluster.md.
#pragma once

#include "protocol/core/json_text.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalk::cli {

/// `nodes` and `sweep` are the sweep's answers to "nodes" and "status" (docs/protocols/sweep-control.md); `refused` are
/// connections that were not let in, by reason.
[[nodiscard]] std::string cluster_metrics(const json& nodes, const json& sweep,
                                          const std::vector<std::pair<std::string_view, std::uint64_t>>& refused);

} // namespace chalk::cli
