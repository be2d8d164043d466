#include "protocol/model/dialect/provider_error.hpp"

#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

namespace chalk::model {

namespace {

constexpr std::size_t longest_message = 2'000;
constexpr std::size_t longest_word = 100;
constexpr unsigned payment_required = 402;
constexpr unsigned payload_too_large = 413;

/// OpenAI has a code for it, Anthropic, Gemini and servers like vLLM only words.
bool tells_of_overflow(std::string_view kind, std::string_view message) {
    if (kind == "context_length_exceeded" || kind == "request_too_large") {
        return true;
    }
    for (const std::string_view words :
         {"prompt is too long", "maximum context length", "exceed context limit", "exceeds the context window",
          "context window exceeded", "exceeds the maximum number of tokens allowed"}) {
        if (message.find(words) != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

/// Gemini's code is the HTTP status once more; what it means is the status's name.
std::string code_text(const json& error) {
    const auto& code = value_at(error, "code");
    if (code.is_string()) {
        return shortened(code.get_ref<const std::string&>(), longest_word);
    }
    if (!code.is_number_integer()) {
        return {};
    }
    const auto status = text_at(error, "status");
    return status.empty() ? dump_json(code) : shortened(status, longest_word);
}

} // namespace

std::string provider_error::text() const {
    auto all = kind.empty() ? message : kind + ": " + message;
    if (!request_id.empty()) {
        all += fmt::format(" (request {})", request_id);
    }
    return all;
}

std::optional<provider_error> find_error(const json& answer) {
    // Gemini's stream is a list where it is no stream of events, and so is its error.
    const auto& body = answer.is_array() && answer.size() == 1 ? answer.front() : answer;
    const auto& nested = value_at(body, "error");
    const bool flat = text_at(body, "object") == "error" || (text_at(body, "type") == "error" && nested.is_null());
    if (!flat && (nested.is_null() || nested == false)) {
        return std::nullopt;
    }
    provider_error found;
    const auto& error = flat ? body : nested;
    const auto type = text_at(error, "type");
    found.kind = code_text(error);
    if (found.kind.empty() && type != "error") {
        found.kind = shortened(type, longest_word);
    }
    auto message =
        error.is_string() ? std::string_view(error.get_ref<const std::string&>()) : text_at(error, "message");
    found.message =
        message.empty() ? shortened(dump_json(error), longest_message) : shortened(message, longest_message);
    found.request_id = shortened(text_at(body, "request_id"), longest_word);
    found.context_overflow = tells_of_overflow(found.kind, found.message) || tells_of_overflow(type, {});
    return found;
}

turn_failure failure_of_response(unsigned status, std::string body, std::string_view request_id) {
    provider_error error;
    auto parsed = parse_provider_json(body);
    if (auto found = parsed ? find_error(*parsed) : std::nullopt) {
        error = std::move(*found);
    } else {
        error.message = body.empty() ? "an empty body" : shortened(body, longest_message);
    }
    if (error.request_id.empty()) {
        error.request_id = shortened(request_id, longest_word);
    }
    auto kind = turn_failure::what::ended;
    if (status == payment_required && error.text().find("token_budget_exhausted") != std::string::npos) {
        kind = turn_failure::what::token_budget;
    } else if (status == payment_required && error.text().find("usd_budget_exhausted") != std::string::npos) {
        kind = turn_failure::what::usd_budget;
    } else if (error.context_overflow || status == payload_too_large) {
        kind = turn_failure::what::context_overflow;
    }
    return {model_failure(fmt::format("HTTP {}: {}", status, error.text())), kind};
}

} // namespace chalk::model
