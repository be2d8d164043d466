#include "protocol/gateway/routes.hpp"

#include "protocol/core/secret_variable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace chalk::gateway {

namespace {

constexpr std::array<std::pair<std::string_view, provider>, 4> prefixes = {
    {{"openai/", provider::openai},
     {"openai_responses/", provider::openai},
     {"anthropic/", provider::anthropic},
     {"openai_compatible/", provider::openai_compatible}}};

/// What a client may add to a request; everything else (cookies, keys, who it is) is the gateway's to say.
constexpr std::array<std::string_view, 5> passed_headers = {"accept", "anthropic-version", "content-type",
                                                            "openai-beta", "user-agent"};
constexpr std::array<std::string_view, 2> passed_prefixes = {"anthropic-beta", "x-stainless-"};

struct place {
    std::string_view base;
    std::string_view key;
    std::string_view key_variable;
};

place place_of(const provider_settings& settings, provider from, std::string_view base_url) {
    place out;
    switch (from) {
    case provider::openai:
        out = {settings.openai_url.empty() ? "https://api.openai.com" : std::string_view(settings.openai_url),
               settings.openai_key, "OPENAI_API_KEY"};
        break;
    case provider::anthropic:
        out = {settings.anthropic_url.empty() ? "https://api.anthropic.com" : std::string_view(settings.anthropic_url),
               settings.anthropic_key, "ANTHROPIC_API_KEY"};
        break;
    case provider::openai_compatible:
        out = {base_url.empty() ? std::string_view(settings.compatible_url) : base_url, settings.compatible_key,
               "OPENAI_COMPATIBLE_API_KEY"};
        break;
    }
    if (!settings.proxy.empty()) {
        out.base = settings.proxy;
    }
    return out;
}

bool is_http(std::string_view url) {
    return url.starts_with("http://") || url.starts_with("https://");
}

/// OpenAI's clients take a base URL that ends in the version ("https://host/v1"), Anthropic's one without it; a path of
/// another kind ("https://host/api/paas/v4") takes the version's place.
std::string join(std::string_view base, std::string_view target, bool anthropic) {
    while (base.ends_with('/')) {
        base.remove_suffix(1);
    }
    const auto host = base.find("://");
    const bool has_path = base.find('/', host == std::string_view::npos ? 0 : host + 3) != std::string_view::npos;
    constexpr std::string_view version = "/v1";
    if (base.ends_with(version) || (has_path && !anthropic)) {
        target.remove_prefix(version.size());
    }
    return std::string(base) + std::string(target);
}

bool passes(std::string_view name) {
    return std::find(passed_headers.begin(), passed_headers.end(), name) != passed_headers.end() ||
           std::any_of(passed_prefixes.begin(), passed_prefixes.end(),
                       [name](std::string_view prefix) { return name.starts_with(prefix); });
}

} // namespace

result<model_name> parse_model_name(std::string_view full) {
    for (const auto& [prefix, from] : prefixes) {
        if (full.starts_with(prefix) && full.size() > prefix.size()) {
            return model_name{from, std::string(full.substr(prefix.size()))};
        }
    }
    return config_failure(
        fmt::format("model: \"{}\" does not say whose it is; expected openai/NAME, openai_responses/NAME, "
                    "anthropic/NAME or openai_compatible/NAME",
                    full));
}

const std::vector<std::string>& key_variables() {
    static const std::vector<std::string> names = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_COMPATIBLE_API_KEY"};
    return names;
}

provider_settings read_provider_settings(const std::function<std::string(const char*)>& variable) {
    provider_settings out;
    out.openai_key = variable("OPENAI_API_KEY");
    out.openai_url = variable("OPENAI_BASE_URL");
    out.anthropic_key = variable("ANTHROPIC_API_KEY");
    out.anthropic_url = variable("ANTHROPIC_BASE_URL");
    out.compatible_key = variable("OPENAI_COMPATIBLE_API_KEY");
    out.compatible_url = variable("OPENAI_COMPATIBLE_BASE_URL");
    out.service_tier = variable("CHALK_INFERENCE_SERVICE_TIER");
    out.ca_file = variable("SSL_CERT_FILE");
    if (out.ca_file.empty()) {
        out.ca_file = variable("CURL_CA_BUNDLE");
    }
    return out;
}

provider_settings take_provider_settings() {
    auto out = read_provider_settings([](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    });
    for (const auto& name : key_variables()) {
        (void)take_secret_variable(name.c_str());
    }
    return out;
}

result<void> check_route(const provider_settings& settings, std::string_view full_model, std::string_view base_url) {
    const auto name = parse_model_name(full_model);
    if (!name) {
        return name.error();
    }
    const place at = place_of(settings, name->from, base_url);
    if (at.base.empty()) {
        return config_failure(fmt::format("model: {} needs a server: set model_args.base_url, "
                                          "OPENAI_COMPATIBLE_BASE_URL or --proxy",
                                          full_model));
    }
    if (!is_http(at.base)) {
        return config_failure(
            fmt::format("model: {}: its server's URL does not begin with http:// or https://", full_model));
    }
    // A server of one's own, or a proxy, may do without.
    if (at.key.empty() && settings.proxy.empty() && name->from != provider::openai_compatible) {
        return config_failure(fmt::format("model: {} needs a key: set {}", full_model, at.key_variable));
    }
    return {};
}

answer<route> find_route(const provider_settings& settings, const model_name& model, std::string_view base_url,
                         const call& what, const curl::http_headers& from_client) {
    const bool anthropic = is_anthropic(what.which);
    const bool own_api = settings.proxy.empty() && model.from != provider::openai_compatible;
    if (own_api && anthropic != (model.from == provider::anthropic)) {
        return refusal{
            400, "wrong_api",
            fmt::format("this run's model is not served under {}", what.target.substr(0, what.target.find('?')))};
    }
    const place at = place_of(settings, model.from, base_url);
    route out;
    out.url = join(at.base, what.target, anthropic);
    for (const auto& [name, value] : from_client) {
        if (passes(name)) {
            out.headers.emplace_back(name, value);
        }
    }
    if (curl::find_header(out.headers, "content-type").empty()) {
        out.headers.emplace_back("content-type", "application/json");
    }
    if (anthropic && curl::find_header(out.headers, "anthropic-version").empty()) {
        out.headers.emplace_back("anthropic-version", "2023-06-01");
    }
    if (!at.key.empty()) {
        if (anthropic) {
            out.headers.emplace_back("x-api-key", at.key);
        } else {
            out.headers.emplace_back("authorization", fmt::format("Bearer {}", at.key));
        }
    }
    const bool has_tiers = what.which != api::count_tokens;
    out.body =
        settings.service_tier.empty() || !has_tiers ? what.body : with_service_tier(what.body, settings.service_tier);
    return out;
}

} // namespace chalk::gateway
