/// How the runs of this command reach their models: keys of the environment, flags, limits of the config.
#pragma once

#include "cli/run/options.hpp"
#include "config/run_config.hpp"
#include "protocol/gateway/gateway.hpp"

#include <optional>

namespace chalk::cli {

/// nullopt: these runs ask no model (a fake one takes its place, or nothing will run). error_class::config for what the
/// user can mend, error_class::model when this machine cannot speak HTTP.
[[nodiscard]] result<std::optional<gateway::gateway_settings>>
make_gateway_settings(const run_options& options, const config::run_config& config,
                      gateway::provider_settings providers);

/// The same of a node, whose runs are not known yet: a model that cannot be asked here fails the run that asks it.
/// error_class::config for the prices.
[[nodiscard]] result<gateway::gateway_settings> make_node_gateway_settings(const run_options& options,
                                                                           gateway::provider_settings providers);

/// What one run may ask, and for how much. `seed` tells the run from its repeats.
[[nodiscard]] std::optional<gateway::account_settings>
make_account_settings(const run_options& options, const config::run_config& config, std::string seed);

} // namespace chalk::cli
