/// Which of a sweep's options make sense when its runs are made on other machines.
#pragma once

#include "cli/run/options.hpp"
#include "protocol/core/result.hpp"

namespace chalk::cli {

/// Before anything starts. error_class::config names each option that is of this machine alone, and what to do instead:
/// --rootfs, --mount, --prices, --record, --replay, --proxy, --no-proxy and --overcommit.
[[nodiscard]] result<void> check_cluster_options(const run_options& how);

} // namespace chalk::cli
