/// The sandbox's process 1: watches its owner and its lease, starts the harness unless it runs already, reaps, and
/// takes everything down with itself.
#pragma once

#include "runtimes/namespaces/nest/lease_view.hpp"

#include <optional>
#include <string_view>

#include <sys/types.h>

namespace chalk::nest {

/// Where the first process puts descriptors for init, below the harness's own: the harness gets what is at
/// 2 .. init_first_fd - 1 and nothing else.
inline constexpr int init_owner_fd = 60; ///< the sandbox's socket: our end
inline constexpr int init_lease_fd = 61; ///< the page of the lease, for an init that is executed

/// What the owner is told when the sandbox had to end by its lease.
inline constexpr std::string_view lease_is_over = "the lease that sandboxes of this machine run by has ended";

/// `harness` is a child that is the harness already, or 0: start it, `arguments` being its argv. Runs until the harness
/// ends, the owner is gone or the lease is over; the return value is the exit code of the process. Without a `lease` to
/// look at (nullopt, with errno) nothing may run.
int run_init(pid_t harness, char** arguments, char** environment, std::optional<lease_view> lease);

} // namespace chalk::nest
