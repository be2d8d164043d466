/// A child of this process that is the student for a moment: in its groups, under its id, in a session of its own.
#pragma once

#include "runtimes/confinement/check/probe.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace chalk::confinement::check {

struct child_end {
    std::uint64_t counted = 0; ///< what `body` had counted to when it ended, however it did
    int signal = 0;            ///< that killed it, or 0
    int code = 0;              ///< else its exit code; 120 and above: it could not be set up
};

/// Forks, joins the groups, becomes `how.user`, runs `body` with a counter that is shared with us, and then kills
/// whatever is left of its process group. `body` must not throw; its return value is the exit code. Bounded only by
/// `body`.
[[nodiscard]] std::optional<child_end> as_user(const settings& how, const std::function<int(std::uint64_t&)>& body);

} // namespace chalk::confinement::check
