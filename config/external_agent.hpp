/// The agent whose messages come from the run's backend: a person, or a program elsewhere
/// (docs/howto/external-agent.md).
#pragma once

#include "config/run_config.hpp"

#include <string_view>

namespace chalk::config {

inline constexpr std::string_view external_agent = "external";

/// With use_fake_model a script takes its place, as any agent's.
[[nodiscard]] inline bool has_external_agent(const run_config& config) {
    return config.agent == external_agent && !config.use_fake_model;
}

} // namespace chalk::config
