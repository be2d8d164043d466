#include "protocol/gateway/call.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

namespace chalk::gateway {

namespace {

struct known_path {
    std::string_view path;
    api which;
};

constexpr std::array<known_path, 4> paths = {{{"/v1/chat/completions", api::chat_completions},
                                              {"/v1/responses", api::responses},
                                              {"/v1/messages", api::messages},
                                              {"/v1/messages/count_tokens", api::count_tokens}}};

constexpr std::array<std::string_view, 2> gemini_folders = {"/v1beta/models/", "/v1/models/"};
constexpr std::array<std::pair<std::string_view, api>, 3> gemini_methods = {
    {{"generateContent", api::generate_content},
     {"streamGenerateContent", api::generate_content},
     {"countTokens", api::count_gemini_tokens}}};

struct gemini_path {
    std::string_view model;
    api which = api::generate_content;
};

/// "/v1beta/models/NAME:METHOD".
std::optional<gemini_path> parse_gemini_path(std::string_view path) {
    const auto colon = path.rfind(':');
    for (const auto folder : gemini_folders) {
        if (colon == std::string_view::npos || !path.starts_with(folder) || colon <= folder.size()) {
            continue;
        }
        for (const auto& [method, which] : gemini_methods) {
            if (path.substr(colon + 1) == method) {
                return gemini_path{path.substr(folder.size(), colon - folder.size()), which};
            }
        }
    }
    return std::nullopt;
}

std::string_view path_of(std::string_view target) {
    return target.substr(0, target.find('?'));
}

/// A query may hold a key, or hide the counts of tokens.
std::string gemini_target(std::string_view target) {
    const auto path = path_of(target);
    const auto query = "&" + std::string(target.substr(std::min(path.size() + 1, target.size()))) + "&";
    return std::string(path) + (query.find("&alt=sse&") == std::string::npos ? "" : "?alt=sse");
}

/// Gemini's path names the model; its bodies may do so once more, and must not mean another.
bool names_another(const json& body, const std::string& model) {
    const auto another = [&model](const json& request) {
        const auto named = request.find("model");
        return named != request.end() && *named != model && *named != "models/" + model;
    };
    const auto holds_another = [&](const char* key) {
        const auto inner = body.find(key);
        return inner != body.end() && another(*inner);
    };
    return another(body) || holds_another("generateContentRequest") || holds_another("generate_content_request");
}

std::string digest_of(std::string_view target, std::string_view body) {
    sha256_sum sum;
    sum.add(target);
    sum.add("\n");
    sum.add(body);
    return hex_of(sum.finish());
}

std::string_view gemini_status(unsigned status) {
    switch (status) {
    case 401:
        return "UNAUTHENTICATED";
    case 402:
        return "FAILED_PRECONDITION";
    case 403:
        return "PERMISSION_DENIED";
    case 404:
        return "NOT_FOUND";
    case 429:
        return "RESOURCE_EXHAUSTED";
    case 502:
        return "UNAVAILABLE";
    case 504:
        return "DEADLINE_EXCEEDED";
    default:
        return status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
    }
}

std::string_view anthropic_type(unsigned status) {
    switch (status) {
    case 401:
        return "authentication_error";
    case 402:
        return "billing_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

} // namespace

void throw_exception_from_error(const refusal& why, const boost::source_location&) {
    throw std::logic_error("value() of a refusal: " + why.message);
}

answer<api> find_api(std::string_view method, std::string_view target) {
    const auto path = path_of(target);
    std::optional<api> found;
    for (const auto& known : paths) {
        if (path == known.path) {
            found = known.which;
        }
    }
    if (const auto gemini = parse_gemini_path(path)) {
        found = gemini->which;
    }
    if (!found) {
        return refusal{404, "not_found",
                       "the gateway serves /v1/chat/completions, /v1/responses, /v1/messages, "
                       "/v1/messages/count_tokens, and of /v1beta/models/NAME :generateContent, "
                       ":streamGenerateContent and :countTokens"};
    }
    if (method != "POST") {
        return refusal{405, "method_not_allowed", fmt::format("{} takes POST alone", path)};
    }
    return *found;
}

answer<call> read_call(api which, std::string_view target, std::string_view model_header, std::string body) {
    auto parsed = parse_json(body);
    if (!parsed) {
        return refusal{400, "invalid_json", "the body is not JSON: " + parsed.error().message};
    }
    if (!parsed->is_object()) {
        return refusal{400, "no_model", "the body is no JSON object"};
    }
    call out;
    out.which = which;
    out.target = target;
    if (const auto path = parse_gemini_path(path_of(target)); path && family_of(which) == api_family::gemini) {
        out.target = gemini_target(target);
        out.model = path->model;
        if (names_another(*parsed, out.model)) {
            return refusal{400, "two_models", "the body names another model than the path"};
        }
    } else if (const auto model = parsed->find("model"); model != parsed->end() && model->is_string()) {
        out.model = model->get<std::string>();
    } else {
        return refusal{400, "no_model", "the body has no \"model\""};
    }
    out.full_model = model_header;
    out.digest = digest_of(out.target, dump_json(*parsed));
    out.body = std::move(body);
    return out;
}

std::string with_service_tier(const std::string& body, const std::string& tier) {
    const auto parsed = parse_json(body);
    const auto brace = body.find('{');
    if (!parsed || !parsed->is_object() || parsed->contains("service_tier") || brace == std::string::npos) {
        return body;
    }
    return body.substr(0, brace + 1) + "\"service_tier\":" + dump_json(json(tier)) + (parsed->empty() ? "" : ",") +
           body.substr(brace + 1);
}

std::string error_body(api which, const refusal& why) {
    if (family_of(which) == api_family::gemini) {
        return dump_json({{"error",
                           {{"code", why.status},
                            {"message", why.code + ": " + why.message},
                            {"status", gemini_status(why.status)}}}});
    }
    if (family_of(which) == api_family::anthropic) {
        return dump_json({{"type", "error"},
                          {"error", {{"type", anthropic_type(why.status)}, {"message", why.code + ": " + why.message}}},
                          {"request_id", nullptr}});
    }
    return dump_json({{"error",
                       {{"message", why.message},
                        {"type", why.status >= 500 ? "server_error" : "invalid_request_error"},
                        {"param", nullptr},
                        {"code", why.code}}}});
}

} // namespace chalk::gateway
