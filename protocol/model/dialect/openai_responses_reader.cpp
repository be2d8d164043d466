#include "protocol/model/dialect/openai_responses.hpp"
#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

namespace chalk::model {

namespace {

constexpr std::size_t most_items = 1'000;
/// Of all items, encrypted reasoning included.
constexpr std::size_t most_kept = std::size_t{16} << 20U;

/// The texts of all parts of a list such as an item's content or summary.
std::string joined(const json& parts, const char* key) {
    std::string all;
    if (parts.is_array()) {
        for (const auto& part : parts) {
            all += text_at(part, key);
        }
    }
    return all;
}

token_usage usage_of(const json& usage) {
    return {count_at(usage, "input_tokens").value_or(0),
            count_at(value_at(usage, "input_tokens_details"), "cached_tokens").value_or(0),
            count_at(usage, "output_tokens").value_or(0),
            count_at(value_at(usage, "output_tokens_details"), "reasoning_tokens").value_or(0)};
}

} // namespace

void openai_responses_reader::read(json& event) {
    const auto type = text_at(event, "type");
    if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") {
        end(value_at(event, "response"), type);
        return;
    }
    auto* open = item_of(event);
    if (open == nullptr) {
        return;
    }
    if (type == "response.output_item.added" || type == "response.output_item.done") {
        put_item(*open, value_at(event, "item"), type.ends_with(".done"));
    } else if (type == "response.output_text.delta") {
        say(open->text, text_at(event, "delta"));
    } else if (type == "response.refusal.delta") {
        refused_ = true;
        say(open->text, text_at(event, "delta"));
    } else if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
        say(open->reasoning, text_at(event, "delta"));
    } else if (type == "response.function_call_arguments.delta" && !open->done) {
        open->call.add(text_at(event, "delta"));
    }
}

openai_responses_reader::item* openai_responses_reader::item_of(const json& event) {
    const auto index = count_at(event, "output_index");
    if (!index) {
        return nullptr;
    }
    if (items_.size() >= most_items && !items_.contains(*index)) {
        fail(turn_failure::what::ended, fmt::format("the turn holds more than {} items", most_items));
        return nullptr;
    }
    return &items_[*index];
}

void openai_responses_reader::put_item(item& into, const json& from, bool done) {
    if (!from.is_object()) {
        return;
    }
    into.done = done;
    if (text_at(from, "type") == "function_call") {
        into.call.id = shortened(text_at(from, "call_id"), 1'000);
        into.call.name = shortened(text_at(from, "name"), 1'000);
        if (const auto arguments = text_at(from, "arguments"); done || into.call.size == 0) {
            into.call.arguments.clear();
            into.call.size = 0;
            into.call.add(arguments);
        }
        into.kept = {{"type", "function_call"}};
        return;
    }
    into.kept = from;
    kept_ += done ? dump_json(from).size() : 0;
    if (kept_ > most_kept) {
        fail(turn_failure::what::ended, fmt::format("the turn holds more than {} bytes", most_kept));
    }
}

void openai_responses_reader::end(const json& response, std::string_view type) {
    usage_ = usage_of(value_at(response, "usage"));
    if (type == "response.failed") {
        if (auto error = find_error(response)) {
            fail(*error);
        } else {
            fail(turn_failure::what::aborted, "the provider says that the response failed, and not why");
        }
        return;
    }
    // The whole output once more: what no event of its own told.
    if (const auto& output = value_at(response, "output"); output.is_array() && output.size() <= most_items) {
        for (std::size_t i = 0; i < output.size(); ++i) {
            if (auto& known = items_[i]; !known.done) {
                put_item(known, output[i], true);
            }
        }
    }
    if (type == "response.incomplete") {
        const auto reason = text_at(value_at(response, "incomplete_details"), "reason");
        incomplete_reason_ = reason.empty() ? "max_output_tokens" : reason;
    }
    ended_ = true;
    complete();
}

std::string openai_responses_reader::missing() const {
    return ended_ ? "" : "there was no response.completed";
}

turn openai_responses_reader::take() {
    turn out;
    std::vector<draft_call> calls;
    out.provider_items = json::array();
    for (auto& [index, one] : items_) {
        const auto type = text_at(one.kept, "type");
        if (type == "message") {
            const auto& content = value_at(one.kept, "content");
            refused_ = refused_ || (one.done && !joined(content, "refusal").empty());
            auto text = one.done ? joined(content, "text") + joined(content, "refusal") : std::move(one.text);
            out.text += text;
        } else if (type == "reasoning") {
            auto summary = joined(value_at(one.kept, "summary"), "text");
            if (summary.empty()) {
                summary = joined(value_at(one.kept, "content"), "text");
            }
            out.reasoning += one.done && !summary.empty() ? summary : one.reasoning;
        } else if (type == "function_call") {
            if (calls.size() == most_calls) {
                continue;
            }
            calls.push_back(std::move(one.call));
        } else if (type.empty()) { // deltas of an item that nothing opened
            out.text += one.text;
            continue;
        }
        out.provider_items.push_back(std::move(one.kept));
    }
    out.stopped = calls.empty() ? stop_reason::end : stop_reason::tool_calls;
    if (incomplete_reason_ == "content_filter" || refused_) {
        out.stopped = stop_reason::refusal;
    } else if (!incomplete_reason_.empty()) {
        out.stopped = stop_reason::length;
    }
    put_calls(out, std::move(calls), call_prefix_);
    out.usage = usage_;
    return out;
}

} // namespace chalk::model
