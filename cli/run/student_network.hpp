/// What a run's student may reach, worked out on the host: in a sandbox whose network is its own, the harness's ports
/// can be chosen before it exists, and so can the rules (docs/adr/0010).
#pragma once

#include "config/run_config.hpp"
#include "runtimes/confinement/firewall/rules.hpp"

namespace chalk::cli {

/// CHALK_STUDENT_NETWORK of this process's environment. error_class::config: a word that it does not know.
[[nodiscard]] result<firewall::network_reach> student_reach();

/// The config as the harness in such a sandbox gets it: a tool server without a port gets the sandbox's.
[[nodiscard]] config::run_config with_sandbox_ports(config::run_config config);

/// The policy for `config` (with_sandbox_ports): never the websocket; the tool server and the model gateway only for an
/// agent that is a program of its own.
[[nodiscard]] firewall::policy student_network(const config::run_config& config, firewall::network_reach reach);

} // namespace chalk::cli
