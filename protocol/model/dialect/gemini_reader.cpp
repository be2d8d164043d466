#include "protocol/model/dialect/gemini.hpp"
#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chalk::model {

namespace {

/// A hostile stream may hold any number of parts.
constexpr std::size_t most_parts = 1'000;
constexpr std::size_t most_kept_bytes = std::size_t{16} << 20U;
constexpr std::size_t longest_text = 500;

template<std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 10> refusals = {"SAFETY",
                                                       "RECITATION",
                                                       "LANGUAGE",
                                                       "BLOCKLIST",
                                                       "PROHIBITED_CONTENT",
                                                       "SPII",
                                                       "IMAGE_SAFETY",
                                                       "IMAGE_PROHIBITED_CONTENT",
                                                       "IMAGE_RECITATION",
                                                       "IMAGE_OTHER"};
/// The provider could not read what the model wrote, and sends nothing of it.
constexpr std::array<std::string_view, 4> garbled = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
                                                     "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS"};

stop_reason reason_of(std::string_view name, bool has_calls) {
    if (name == "MAX_TOKENS") {
        return stop_reason::length;
    }
    if (is_one_of(name, refusals)) {
        return stop_reason::refusal;
    }
    return has_calls ? stop_reason::tool_calls : stop_reason::end; // STOP, OTHER, unknown ones
}

bool is_thought(const json& part) {
    return value_at(part, "thought") == true;
}

/// Text and nothing that belongs to this very piece of it, such as a signature: it may join other such text.
bool is_plain_text(const json& part) {
    return value_at(part, "text").is_string() && part.size() == (part.contains("thought") ? 2U : 1U);
}

} // namespace

bool is_gemini_call(const json& part) {
    return value_at(part, "functionCall").is_object();
}

void gemini_reader::read(json& event) {
    count(value_at(event, "usageMetadata"));
    blocked_ = blocked_ || !text_at(value_at(event, "promptFeedback"), "blockReason").empty();
    const auto candidates = event.find("candidates");
    if (candidates != event.end() && candidates->is_array() && !candidates->empty()) {
        read_candidate(candidates->front()); // one is all that is asked for
    }
}

void gemini_reader::read_candidate(json& candidate) {
    if (!candidate.is_object()) {
        return;
    }
    const auto content = candidate.find("content");
    if (content != candidate.end() && content->is_object()) {
        const auto parts = content->find("parts");
        for (std::size_t i = 0; parts != content->end() && parts->is_array() && i < parts->size(); ++i) {
            add_part((*parts)[i]);
        }
    }
    const auto reason = text_at(candidate, "finishReason");
    if (reason.empty() || reason == "FINISH_REASON_UNSPECIFIED") {
        return;
    }
    finish_reason_ = shortened(reason, longest_text);
    if (is_one_of(reason, garbled)) {
        fail(turn_failure::what::aborted, fmt::format("the provider could not read the model's answer: {} {}", reason,
                                                      shortened(text_at(candidate, "finishMessage"), longest_text)));
    }
}

void gemini_reader::add_part(json& came) {
    if (!came.is_object()) {
        return;
    }
    if (is_gemini_call(came)) {
        add_call(came);
        return;
    }
    const auto text = text_at(came, "text");
    said_ += text.size();
    if (said_ > most_text) {
        fail(turn_failure::what::ended, fmt::format("the turn holds more than {} bytes of text", most_text));
        return;
    }
    if (!parts_.empty() && is_plain_text(came) && is_plain_text(parts_.back().kept) &&
        is_thought(came) == is_thought(parts_.back().kept)) {
        parts_.back().kept["text"].get_ref<std::string&>() += text;
        return;
    }
    keep({std::move(came), {}});
}

void gemini_reader::add_call(json& came) {
    json call = std::move(came["functionCall"]);
    part made;
    made.call.id = shortened(text_at(call, "id"), longest_text);
    made.call.name = shortened(text_at(call, "name"), longest_text);
    if (const auto& args = value_at(call, "args"); !args.is_null()) {
        made.call.add(dump_json(args));
    }
    came["functionCall"] = made.call.id.empty() ? json::object() : json{{"id", made.call.id}};
    made.kept = std::move(came);
    keep(std::move(made));
}

void gemini_reader::keep(part made) {
    kept_ += made.call.arguments.size() + dump_json(made.kept).size();
    parts_.push_back(std::move(made));
    if (kept_ > most_kept_bytes || parts_.size() > most_parts) {
        fail(turn_failure::what::ended,
             fmt::format("the turn holds more than {} parts or {} bytes", most_parts, most_kept_bytes));
    }
}

/// Counts are totals, and a chunk may leave out those that it does not know.
void gemini_reader::count(const json& usage) {
    prompt_ = count_at(usage, "promptTokenCount").value_or(prompt_);
    tool_prompt_ = count_at(usage, "toolUsePromptTokenCount").value_or(tool_prompt_);
    cached_ = count_at(usage, "cachedContentTokenCount").value_or(cached_);
    said_tokens_ = count_at(usage, "candidatesTokenCount").value_or(said_tokens_);
    thought_tokens_ = count_at(usage, "thoughtsTokenCount").value_or(thought_tokens_);
}

std::string gemini_reader::missing() const {
    return blocked_ || !finish_reason_.empty() ? "" : "there was no finishReason";
}

turn gemini_reader::take() {
    turn out;
    std::vector<draft_call> calls;
    out.provider_items = json::array();
    for (auto& one : parts_) {
        if (is_gemini_call(one.kept)) {
            if (calls.size() == most_calls) {
                continue; // its part goes too: each call that goes back needs a result
            }
            calls.push_back(std::move(one.call));
        } else {
            (is_thought(one.kept) ? out.reasoning : out.text) += text_at(one.kept, "text");
        }
        out.provider_items.push_back(std::move(one.kept));
    }
    out.stopped = blocked_ ? stop_reason::refusal : reason_of(finish_reason_, !calls.empty());
    put_calls(out, std::move(calls), call_prefix_);
    out.usage = {prompt_ + tool_prompt_, cached_, said_tokens_ + thought_tokens_, thought_tokens_};
    return out;
}

} // namespace chalk::model
