#include "protocol/gateway/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace chalk::gateway {

namespace {

constexpr std::array<std::pair<std::string_view, provider>, 5> prefixes = {
    {{"openai/", provider::openai},
     {"openai_responses/", provider::openai},
     {"anthropic/", provider::anthropic},
     {"gemini/", provider::gemini},
     {"openai_compatible/", provider::openai_compatible}}};

/// What a client may add to a request; everything else (cookies, keys, who it is) is the gateway's to say.
constexpr std::array<std::string_view, 5> request_headers = {"accept", "anthropic-version", "content-type",
                                                             "openai-beta", "user-agent"};
constexpr std::array<std::string_view, 2> request_prefixes = {"anthropic-beta", "x-stainless-"};

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
    case provider::gemini:
        out = {settings.gemini_url.empty() ? "https://generativelanguage.googleapis.com"
                                           : std::string_view(settings.gemini_url),
               settings.gemini_key, "GEMINI_API_KEY"};
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

/// Null: it speaks whatever it is asked in.
std::optional<api_family> api_of(provider from) {
    switch (from) {
    case provider::openai:
        return api_family::openai;
    case provider::anthropic:
        return api_family::anthropic;
    case provider::gemini:
        return api_family::gemini;
    case provider::openai_compatible:
        break;
    }
    return std::nullopt;
}

std::pair<std::string, std::string> key_header(api_family family, std::string_view key) {
    switch (family) {
    case api_family::anthropic:
        return {"x-api-key", std::string(key)};
    case api_family::gemini:
        return {"x-goog-api-key", std::string(key)};
    case api_family::openai:
        break;
    }
    return {"authorization", fmt::format("Bearer {}", key)};
}

/// OpenAI's clients take a base URL that ends in the version ("https://host/v1"), others' one without it; a path of
/// another kind ("https://host/api/paas/v4") takes the version's place.
std::string join(std::string_view base, std::string_view target, api_family family) {
    while (base.ends_with('/')) {
        base.remove_suffix(1);
    }
    if (family == api_family::gemini) {
        for (const std::string_view end : {"/v1beta", "/v1"}) {
            base.remove_suffix(base.ends_with(end) ? end.size() : 0);
        }
        return std::string(base) + std::string(target);
    }
    const auto host = base.find("://");
    const bool has_path = base.find('/', host == std::string_view::npos ? 0 : host + 3) != std::string_view::npos;
    constexpr std::string_view version = "/v1";
    if (base.ends_with(version) || (has_path && family == api_family::openai)) {
        target.remove_prefix(version.size());
    }
    return std::string(base) + std::string(target);
}

bool passes(std::string_view name) {
    return std::find(request_headers.begin(), request_headers.end(), name) != request_headers.end() ||
           std::any_of(request_prefixes.begin(), request_prefixes.end(),
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
                    "anthropic/NAME, gemini/NAME or openai_compatible/NAME",
                    full));
}

provider_settings read_provider_settings(const std::function<std::string(const char*)>& variable) {
    provider_settings out;
    out.openai_key = variable("OPENAI_API_KEY");
    out.openai_url = variable("OPENAI_BASE_URL");
    out.anthropic_key = variable("ANTHROPIC_API_KEY");
    out.anthropic_url = variable("ANTHROPIC_BASE_URL");
    out.gemini_key = variable("GEMINI_API_KEY");
    if (out.gemini_key.empty()) {
        out.gemini_key = variable("GOOGLE_API_KEY");
    }
    out.gemini_url = variable("GOOGLE_GEMINI_BASE_URL");
    out.compatible_key = variable("OPENAI_COMPATIBLE_API_KEY");
    out.compatible_url = variable("OPENAI_COMPATIBLE_BASE_URL");
    out.service_tier = variable("CHALK_INFERENCE_SERVICE_TIER");
    out.ca_file = variable("SSL_CERT_FILE");
    if (out.ca_file.empty()) {
        out.ca_file = variable("CURL_CA_BUNDLE");
    }
    return out;
}

provider_settings read_provider_settings(const own_keys& keys) {
    return read_provider_settings([&keys](const char* name) {
        auto key = keys.find(name);
        const char* value = key.empty() ? std::getenv(name) : nullptr;
        return value == nullptr ? key : std::string(value);
    });
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
    const auto family = family_of(what.which);
    const auto spoken = settings.proxy.empty() ? api_of(model.from) : std::nullopt;
    if (spoken && *spoken != family) {
        return refusal{
            400, "wrong_api",
            fmt::format("this run's model is not served under {}", what.target.substr(0, what.target.find('?')))};
    }
    const place at = place_of(settings, model.from, base_url);
    route out;
    out.url = join(at.base, what.target, family);
    for (const auto& [name, value] : from_client) {
        if (passes(name)) {
            out.headers.emplace_back(name, value);
        }
    }
    if (curl::find_header(out.headers, "content-type").empty()) {
        out.headers.emplace_back("content-type", "application/json");
    }
    if (family == api_family::anthropic && curl::find_header(out.headers, "anthropic-version").empty()) {
        out.headers.emplace_back("anthropic-version", "2023-06-01");
    }
    if (!at.key.empty()) {
        out.headers.push_back(key_header(family, at.key));
        out.key = at.key;
    }
    const bool has_tiers = family != api_family::gemini && !only_counts(what.which);
    out.body =
        settings.service_tier.empty() || !has_tiers ? what.body : with_service_tier(what.body, settings.service_tier);
    return out;
}

} // namespace chalk::gateway
