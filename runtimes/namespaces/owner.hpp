/// Who a sandbox's cgroups and folders belong to: one running chalk. The name outlives nothing: a process number is
/// given out again, so the time the process started is part of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace chalk::namespaces {

/// "<pid>-<start time in clock ticks since boot>" of this process, and a counter where a process has several runtimes:
/// "<pid>-<start>-<n>".
[[nodiscard]] std::string make_owner_name();

/// True while the process of that name runs. A name that is none of ours counts as alive: what is not ours is not
/// touched.
[[nodiscard]] bool is_alive(std::string_view owner);

} // namespace chalk::namespaces
