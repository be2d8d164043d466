/// The sandbox's process 1: watches its owner, starts the harness unless it runs already, reaps, and takes everything
/// down with itself.
#pragma once

#include <sys/types.h>

namespace chalk::nest {

/// Where the first process puts descriptors for init, below the harness's own: the harness gets what is at
/// 2 .. init_first_fd - 1 and nothing else.
inline constexpr int init_owner_fd = 60; ///< the sandbox's socket: our end

/// `harness` is a child that is the harness already, or 0: start it, `arguments` being its argv. Runs until the harness
/// ends or the owner is gone; the return value is the exit code of the process.
int run_init(pid_t harness, char** arguments, char** environment);

} // namespace chalk::nest
