/// Which server a model's requests go to, and with which key. Keys are taken out of the caller's environment at the
/// start (own_keys.hpp), and are nowhere else: not in argv, logs, errors, recordings or what children inherit.
///
///     openai/NAME             OPENAI_API_KEY, OPENAI_BASE_URL or https://api.openai.com
///     anthropic/NAME          ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL or https://api.anthropic.com
///     gemini/NAME             GEMINI_API_KEY or GOOGLE_API_KEY, GOOGLE_GEMINI_BASE_URL or
///                             https://generativelanguage.googleapis.com
///     openai_compatible/NAME  OPENAI_COMPATIBLE_API_KEY, model_args.base_url or OPENAI_COMPATIBLE_BASE_URL
///
/// With a proxy all of them go there, under the same paths and with the same keys, which are then the proxy's.
#pragma once

#include "protocol/core/own_keys.hpp"
#include "protocol/gateway/call.hpp"
#include "protocol/net/curl_client.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::gateway {

enum class provider { openai, anthropic, gemini, openai_compatible };

struct model_name {
    provider from = provider::openai;
    std::string bare; ///< "gpt-5"
};

/// "openai/gpt-5". error_class::config with the known prefixes.
[[nodiscard]] result<model_name> parse_model_name(std::string_view full);

/// What the caller's environment says. Never print one.
struct provider_settings {
    std::string openai_key;
    std::string openai_url;
    std::string anthropic_key;
    std::string anthropic_url;
    std::string gemini_key;
    std::string gemini_url;
    std::string compatible_key;
    std::string compatible_url;
    std::string service_tier; ///< CHALK_INFERENCE_SERVICE_TIER
    std::string ca_file;      ///< SSL_CERT_FILE, or CURL_CA_BUNDLE
    std::string proxy;        ///< --proxy: the base URL of all; empty: none
    bool straight = false;    ///< --no-proxy: past the environment's http_proxy too
};

/// `variable` gives a variable's value, or an empty text.
[[nodiscard]] provider_settings read_provider_settings(const std::function<std::string(const char*)>& variable);
/// The keys, and for the rest this process's environment.
[[nodiscard]] provider_settings read_provider_settings(const own_keys& keys);

/// Can this model be asked at all? error_class::config with the variable that is missing. `base_url`:
/// model_args.base_url, empty for none.
[[nodiscard]] result<void> check_route(const provider_settings& settings, std::string_view full_model,
                                       std::string_view base_url);

struct route {
    std::string url;
    curl::http_headers headers; ///< with the key
    std::string key;            ///< alone, to know it again; empty: none. Never print it
    std::string body;
};

/// Where a call of this model goes. Refused (400) when the provider has no such API.
[[nodiscard]] answer<route> find_route(const provider_settings& settings, const model_name& model,
                                       std::string_view base_url, const call& what,
                                       const curl::http_headers& from_client);

} // namespace chalk::gateway
