/// A request of a harness or CLI agent, as far as the gateway has to understand it: which API, which model. Everything
/// else of it passes as it is.
///
/// The APIs: POST /v1/chat/completions and /v1/responses (OpenAI and what is compatible), POST /v1/messages and
/// /v1/messages/count_tokens (Anthropic), POST /v1beta/models/NAME:generateContent, :streamGenerateContent and
/// :countTokens (Gemini).
#pragma once

#include "protocol/core/result.hpp"

#include <string>
#include <string_view>

namespace chalk::gateway {

enum class api { chat_completions, responses, messages, count_tokens, generate_content, count_gemini_tokens };

/// Whose API it is: keys, errors and counts have a shape of their own in each.
enum class api_family { openai, anthropic, gemini };

[[nodiscard]] constexpr api_family family_of(api which) noexcept {
    switch (which) {
    case api::messages:
    case api::count_tokens:
        return api_family::anthropic;
    case api::generate_content:
    case api::count_gemini_tokens:
        return api_family::gemini;
    case api::chat_completions:
    case api::responses:
        break;
    }
    return api_family::openai;
}

/// It asks no model and costs no tokens.
[[nodiscard]] constexpr bool only_counts(api which) noexcept {
    return which == api::count_tokens || which == api::count_gemini_tokens;
}

/// Why the gateway itself says no, before or instead of a provider.
struct refusal {
    unsigned status = 400;
    std::string code; ///< "model_not_allowed", "usd_budget_exhausted", ...
    std::string message;
};

/// Called by boost::system::result when value() is asked of a refusal: a programming error.
[[noreturn]] void throw_exception_from_error(const refusal& why, const boost::source_location&);

template<class T>
using answer = boost::system::result<T, refusal>;

/// Where a request is going, out of its method and target. 404 and 405.
[[nodiscard]] answer<api> find_api(std::string_view method, std::string_view target);

struct call {
    api which = api::chat_completions;
    std::string target;     ///< path and query, as sent; of Gemini's queries "alt=sse" alone
    std::string model;      ///< the body's or the path's, without a provider
    std::string full_model; ///< the header X-Chalk-Model's: "openai/gpt-5"; empty where there is none
    std::string body;
    std::string digest; ///< SHA-256 over target and body; the order of an object's keys does not count
};

/// 400 with the cause when the body is no JSON object, or no model is named, or two are.
[[nodiscard]] answer<call> read_call(api which, std::string_view target, std::string_view model_header,
                                     std::string body);

/// `body` with "service_tier" set, unless it has one; the rest stays as it is, byte for byte.
[[nodiscard]] std::string with_service_tier(const std::string& body, const std::string& tier);

/// The refusal as the API's own clients expect it: {"error":{"message","type","param","code"}},
/// {"type":"error","error":{"type","message"}} or {"error":{"code","message","status"}}.
[[nodiscard]] std::string error_body(api which, const refusal& why);

} // namespace chalk::gateway
