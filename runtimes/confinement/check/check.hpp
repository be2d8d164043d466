/// `chalk check confinement`: all probes, and what they left. For root, in a sandbox or on a machine.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/confinement/check/probe.hpp"

#include <nlohmann/json.hpp>

namespace chalk::confinement::check {

struct report {
    uid_t user = 0;
    std::vector<probe_result> probes;
    leftovers left;

    [[nodiscard]] bool good() const noexcept; ///< no probe failed and nothing is left
};

/// A user id that no process has; error_class::harness when there is none.
[[nodiscard]] result<uid_t> find_unused_user();

/// From this process's environment: the student's groups (CHALK_STUDENT_CGROUP_PROCS), CHALK_SANDBOX_MEMORY_BYTES,
/// CHALK_STUDENT_NETWORK. error_class::config.
[[nodiscard]] result<settings> settings_from_environment();

/// Blocks for some seconds; forks. Call it from a process without threads.
[[nodiscard]] report run_probes(const settings& how);

[[nodiscard]] nlohmann::json to_json(const report& what);

} // namespace chalk::confinement::check
