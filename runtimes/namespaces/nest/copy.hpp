/// Harnesses that are copies of the helper. Loading chalk and its libraries takes longer than making the sandbox around
/// them; a copy of a process that has loaded them already has that behind it (docs/adr/0008).
#pragma once

#include "runtimes/namespaces/orders.hpp"

#include <string>
#include <vector>

#include <sys/types.h>

namespace chalk::nest {

/// What a copy does as the harness: `argv` as an executed one would get it, its descriptors in place, the return value
/// its exit code.
using harness_entry = int (*)(int argc, char** argv);

/// Room for a command line. The helper passes it as its last argument, so that a copy can show its own there.
inline constexpr std::size_t title_room = 96;

/// Remembers where the command line of this process lies, for the copies to come. Once, at the start.
void remember_command_line(int argc, char** argv);

/// In place of the host's command line, which the sandbox must not show.
void show_command_line(const std::vector<std::string>& argv);

/// Forks the harness from a sandbox's first process, which has arranged its descriptors (first_process.hpp). -1: errno.
[[nodiscard]] pid_t start_copy(const namespaces::sandbox_orders& orders, harness_entry harness);

} // namespace chalk::nest
