/// What a provider says when it will not answer: `{"error": {message, type, param, code}}` (OpenAI and those like it),
/// `{"type": "error", "error": {type, message}, "request_id"}` (Anthropic), `{"error": {code, message, status}}`
/// (Gemini), or something of a gateway's own.
#pragma once

#include "protocol/model/model.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace chalk::model {

struct provider_error {
    std::string kind; ///< its code, or its status's name, else its type, or empty
    std::string message;
    std::string request_id;
    bool context_overflow = false; ///< the conversation is longer than the model can read

    /// "context_length_exceeded: This model's ... (request req_1)", at most some 2 KB.
    [[nodiscard]] std::string text() const;
};

/// The error in `answer`, or nullopt when it is none.
[[nodiscard]] std::optional<provider_error> find_error(const json& answer);

/// A response other than 200, whole. The gateway's own refusals have the same form (docs/protocols/gateway.md): 402
/// budget_exhausted is one.
[[nodiscard]] turn_failure failure_of_response(unsigned status, std::string body, std::string_view request_id);

} // namespace chalk::model
