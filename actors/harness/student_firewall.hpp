/// The harness's part in keeping the student off the network: it sets the rules where the runtime left that to it,
/// holds the tool server's port against what is closed, and tries to get out as the student.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/host_channel/messages.hpp"
#include "runtimes/confinement/firewall/reach.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace chalk::actors {

struct firewall_options {
    host_channel::student_firewall description;
    uid_t student = 0;
    /// Tried as the student; firewall::outside_targets() but for tests.
    std::vector<firewall::target> outside = firewall::outside_targets();
};

/// error_class::harness when rules are in force that leave the tool server's port open to a student whose agent does
/// not need it. Does not block.
[[nodiscard]] result<void> check_tool_port(const host_channel::student_firewall& firewall, std::uint16_t port,
                                           bool agent_needs_it);

/// True when check_firewall() has something to set or to try. Does not block.
[[nodiscard]] bool needs_firewall_check(const firewall_options& options);

/// Blocks for a second or two. What it found, for the log; error_class::harness when the rules cannot be set, or when
/// one of the addresses answered the student.
[[nodiscard]] result<std::string> check_firewall(const firewall_options& options);

} // namespace chalk::actors
