/// What every process of a sandbox gives up before it does anything for others.
#pragma once

#include <string_view>

namespace chalk::nest {

/// No new privileges, the seccomp program of descriptor `seccomp`, and all capabilities gone but those that a harness
/// needs. Empty: done; else what failed, with errno. It cannot be undone.
[[nodiscard]] std::string_view give_up_privileges(int seccomp);

} // namespace chalk::nest
