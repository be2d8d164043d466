#include "protocol/gateway/call.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
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

std::string sha256(std::string_view target, std::string_view body) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned length = 0;
    EVP_MD_CTX* context = ::EVP_MD_CTX_new();
    ::EVP_DigestInit_ex(context, ::EVP_sha256(), nullptr);
    ::EVP_DigestUpdate(context, target.data(), target.size());
    ::EVP_DigestUpdate(context, "\n", 1);
    ::EVP_DigestUpdate(context, body.data(), body.size());
    ::EVP_DigestFinal_ex(context, sum.data(), &length);
    ::EVP_MD_CTX_free(context);
    std::string hex;
    for (unsigned i = 0; i < length; ++i) {
        hex += fmt::format("{:02x}", sum.at(i));
    }
    return hex;
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
    const auto path = target.substr(0, target.find('?'));
    for (const auto& known : paths) {
        if (path == known.path) {
            if (method != "POST") {
                return refusal{405, "method_not_allowed", fmt::format("{} takes POST alone", known.path)};
            }
            return known.which;
        }
    }
    return refusal{404, "not_found",
                   "the gateway serves /v1/chat/completions, /v1/responses, /v1/messages and "
                   "/v1/messages/count_tokens"};
}

answer<call> read_call(api which, std::string_view target, std::string_view model_header, std::string body) {
    auto parsed = parse_json(body);
    if (!parsed) {
        return refusal{400, "invalid_json", "the body is not JSON: " + parsed.error().message};
    }
    const auto model = parsed->is_object() ? parsed->find("model") : parsed->end();
    if (!parsed->is_object() || model == parsed->end() || !model->is_string()) {
        return refusal{400, "no_model", "the body has no \"model\""};
    }
    call out;
    out.which = which;
    out.target = target;
    out.model = model->get<std::string>();
    out.full_model = model_header;
    out.digest = sha256(target, dump_json(*parsed));
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
    if (is_anthropic(which)) {
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
