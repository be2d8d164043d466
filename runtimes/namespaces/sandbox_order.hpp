/// What chalk-nest is asked for when a sandbox starts: the plan of its file system, its harness, and the descriptors
/// that go inside with it, whose numbers there the student's description names.
///
/// Touches nothing but this process's environment (LOGURU_LEVEL is handed on).
#pragma once

#include "protocol/host_channel/messages.hpp"
#include "runtimes/namespaces/namespaces_options.hpp"
#include "runtimes/namespaces/orders.hpp"
#include "runtimes/namespaces/plan.hpp"
#include "runtimes/namespaces/sandbox_cgroup.hpp"
#include "runtimes/runtime.hpp"

#include <optional>
#include <vector>

namespace chalk::namespaces {

struct sandbox_order {
    sandbox_orders orders;
    std::vector<int> descriptors; ///< borrowed, in the order that `orders` says
    host_channel::student_description student;
};

/// The harness's ends, borrowed.
struct harness_ends {
    int errors = -1;
    int channel = -1;
};

/// `groups` lends its descriptors; nullopt: there are none, and the kernel counts processes by user.
[[nodiscard]] sandbox_order order_sandbox(const namespaces_options& options, const sandbox_request& request,
                                          plan planned, const std::optional<sandbox_cgroup>& groups,
                                          const harness_ends& ends);

} // namespace chalk::namespaces
