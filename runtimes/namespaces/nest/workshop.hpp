/// Where a sandbox's file system is built, step by step, by the sandbox's first process in its own mount namespace.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <optional>
#include <string>
#include <vector>

namespace chalk::nest {

/// Does all steps. `trees` are the orders' trees, already detached. On failure says which step and why; the caller then
/// gives up the process, and with it the half-built tree.
[[nodiscard]] std::optional<std::string> build(const namespaces::sandbox_orders& orders, std::vector<unique_fd> trees);

} // namespace chalk::nest
