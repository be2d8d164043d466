#include "cli/run/model_access.hpp"

#include "config/cli_agent.hpp"
#include "config/external_agent.hpp"
#include "protocol/net/curl_library.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::cli {

namespace {

bool asks_models(const run_options& options, const config::run_config& config) {
    return !config.use_fake_model && config.agent != config::oracle_agent && !options.prepare_only &&
           !config.model.empty() && !config::has_external_agent(config) &&
           config.environment != config::noop_environment;
}

/// Its messages come through the gateway too.
bool asks_backend(const run_options& options, const config::run_config& config) {
    return config::has_external_agent(config) && !options.prepare_only;
}

std::string base_url_of(const config::run_config& config) {
    const auto found = config.model_args.find("base_url");
    return found != config.model_args.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

result<gateway::gateway_settings> make_node_gateway_settings(const run_options& options,
                                                             gateway::provider_settings providers) {
    gateway::gateway_settings settings;
    settings.providers = std::move(providers);
    settings.providers.proxy = options.no_proxy ? std::string() : options.proxy.value_or("");
    settings.providers.straight = options.no_proxy;
    settings.record = options.record;
    settings.replay = options.replay;
    if (options.prices) {
        auto prices = gateway::price_table::load(*options.prices);
        if (!prices) {
            return prices.error();
        }
        settings.prices = std::move(*prices);
    }
    return settings;
}

result<std::optional<gateway::gateway_settings>> make_gateway_settings(const run_options& options,
                                                                       const config::run_config& config,
                                                                       gateway::provider_settings providers) {
    auto made = make_node_gateway_settings(options, std::move(providers));
    if (!made) {
        return made.error();
    }
    auto& settings = *made;
    if (asks_backend(options, config)) {
        if (config.limit.max_usd) {
            return config_failure("limits.max_usd: what an external agent costs is not known");
        }
        if (const auto loaded = curl::load_curl_library(); !loaded) {
            return loaded.error();
        }
        return std::optional(std::move(settings));
    }
    if (!asks_models(options, config)) {
        return std::optional<gateway::gateway_settings>();
    }
    const bool limits_usd = config.limit.max_usd || config.limit.run.max_usd;
    if (limits_usd && settings.prices.find(config.model) == nullptr) {
        return config_failure(fmt::format("limits.{}: the price of {} is not known; give it with --prices FILE",
                                          config.limit.max_usd ? "max_usd" : "max_run_usd", config.model));
    }
    if (!options.replay) {
        if (auto there = gateway::check_route(settings.providers, config.model, base_url_of(config)); !there) {
            return there.error();
        }
        if (const auto loaded = curl::load_curl_library(); !loaded) {
            return loaded.error();
        }
    }
    return std::optional(std::move(settings));
}

std::optional<gateway::account_settings> make_account_settings(const run_options& options,
                                                               const config::run_config& config, std::string seed) {
    if (asks_backend(options, config)) {
        return gateway::account_settings{{}, {}, {}, std::move(seed)}; // its socket answers no model call
    }
    if (!asks_models(options, config)) {
        return std::nullopt;
    }
    return gateway::account_settings{{config.model},
                                     base_url_of(config),
                                     {config.limit.run.max_total_tokens, config.limit.run.max_usd},
                                     std::move(seed)};
}

} // namespace chalk::cli
