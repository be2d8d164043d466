/// What is in force around a student, for the run's log and for the harness. Pure.
#pragma once

#include "protocol/host_channel/messages.hpp"
#include "runtimes/confinement/firewall/rules.hpp"
#include "runtimes/runtime.hpp"

#include <string>

namespace chalk::namespaces {

/// `cgroups` is what cgroups::note() says. What is kept (sandbox_request::keep) lies on the host's own file system,
/// which no size holds.
[[nodiscard]] std::string confinement_note(bool privileged, const std::string& cgroups, const sandbox_request& request);

/// Adds the student's firewall. `error` is the error number that the kernel had for its rules: a sandbox whose kernel
/// has no nftables is used all the same, since there is no way out of its network namespace. What is open then is the
/// tool server, behind its token.
void describe_firewall(firewall::policy wanted, int error, host_channel::student_description& student);

} // namespace chalk::namespaces
