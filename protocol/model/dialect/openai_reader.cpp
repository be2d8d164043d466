#include "protocol/model/dialect/openai.hpp"
#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::model {

namespace {

stop_reason from_finish_reason(std::string_view name, bool has_calls) {
    if (name == "length") {
        return stop_reason::length;
    }
    if (name == "content_filter") {
        return stop_reason::refusal;
    }
    return has_calls ? stop_reason::tool_calls : stop_reason::end; // stop, tool_calls, function_call, others
}

} // namespace

void openai_reader::read(json& chunk) {
    count(value_at(chunk, "usage"));
    const auto& choices = value_at(chunk, "choices");
    if (!choices.is_array() || choices.empty()) {
        return;
    }
    const auto& choice = choices.front();
    const auto& delta = value_at(choice, "delta");
    add_reasoning(delta);
    say(said_.text, text_at(delta, "content"));
    say(said_.text, text_at(delta, "refusal"));
    if (const auto& calls = value_at(delta, "tool_calls"); calls.is_array()) {
        for (const auto& part : calls) {
            add_call(part);
        }
    }
    if (const auto reason = text_at(choice, "finish_reason"); reason == "error") {
        fail(turn_failure::what::aborted, "the provider ended the turn with an error");
    } else if (!reason.empty()) {
        finish_reason_ = reason;
    }
}

/// Some send the same text under two names: the first that holds any counts.
void openai_reader::add_reasoning(const json& delta) {
    const auto& details = value_at(delta, "reasoning_details");
    for (const auto* name : {"reasoning_content", "reasoning"}) {
        if (const auto text = text_at(delta, name); !text.empty()) {
            say(said_.reasoning, text);
            reasoning_field_ = name;
            break;
        }
    }
    const bool shown_by_name = !reasoning_field_.empty();
    if (!details.is_array()) {
        return;
    }
    for (const auto& detail : details) {
        add_detail(detail);
        if (!shown_by_name) {
            say(said_.reasoning, text_at(detail, "text"));
            say(said_.reasoning, text_at(detail, "summary"));
        }
    }
}

/// Pieces of one detail share its index and type; their texts are joined, their other fields replaced.
void openai_reader::add_detail(const json& detail) {
    if (!detail.is_object()) {
        return;
    }
    details_size_ += dump_json(detail).size();
    if (details_size_ > most_text) {
        fail(turn_failure::what::ended, fmt::format("the turn holds more than {} bytes of reasoning", most_text));
        return;
    }
    const auto index = count_at(detail, "index");
    const auto same = std::find_if(details_.begin(), details_.end(), [&](const json& known) {
        return index && count_at(known, "index") == index && text_at(known, "type") == text_at(detail, "type");
    });
    if (same == details_.end()) {
        details_.push_back(detail);
        return;
    }
    for (const auto& [key, value] : detail.items()) {
        const bool joined = key == "text" || key == "summary" || key == "data";
        if (joined && value.is_string() && value_at(*same, key.c_str()).is_string()) {
            (*same)[key].get_ref<std::string&>() += value.get_ref<const std::string&>();
        } else if (!value.is_null()) {
            (*same)[key] = value;
        }
    }
}

/// Which call a piece belongs to: by index; where there is none, or one index serves for all, by a new id.
draft_call* openai_reader::call_for(const json& part) {
    const auto index = count_at(part, "index");
    const auto id = text_at(part, "id");
    if (!index && id.empty() && call_is_skipped_) {
        return nullptr;
    }
    const auto known = std::find_if(calls_.rbegin(), calls_.rend(), [&](const indexed_call& one) {
        return index ? one.index == *index : id.empty() || one.call.id == id;
    });
    const bool another = known != calls_.rend() && !id.empty() && !known->call.id.empty() && known->call.id != id;
    if (known != calls_.rend() && !another) {
        return &known->call;
    }
    call_is_skipped_ = calls_.size() == most_calls;
    if (call_is_skipped_) {
        return nullptr;
    }
    std::uint64_t last = 0;
    for (const auto& one : calls_) {
        last = std::max(last, one.index);
    }
    calls_.push_back({index.value_or(calls_.empty() ? 0 : last + 1), {}});
    return &calls_.back().call;
}

void openai_reader::add_call(const json& part) {
    if (!part.is_object()) {
        return;
    }
    auto* call = call_for(part);
    if (call == nullptr) {
        return;
    }
    const auto& function = value_at(part, "function");
    if (call->id.empty()) {
        call->id = shortened(text_at(part, "id"), 1'000);
    }
    if (call->name.empty()) {
        call->name = shortened(text_at(function, "name"), 1'000);
    }
    if (const auto& arguments = value_at(function, "arguments"); arguments.is_object()) {
        call->add(dump_json(arguments)); // some servers do not know that it is a string
    } else {
        call->add(text_at(function, "arguments"));
    }
}

void openai_reader::count(const json& usage) {
    auto& sum = said_.usage;
    sum.input = count_at(usage, "prompt_tokens").value_or(sum.input);
    sum.output = count_at(usage, "completion_tokens").value_or(sum.output);
    sum.cached = count_at(value_at(usage, "prompt_tokens_details"), "cached_tokens").value_or(sum.cached);
    sum.reasoning = count_at(value_at(usage, "completion_tokens_details"), "reasoning_tokens").value_or(sum.reasoning);
}

std::string openai_reader::missing() const {
    return finish_reason_.empty() ? "there was no finish_reason" : "";
}

turn openai_reader::take() {
    auto out = std::move(said_);
    if (!details_.empty()) {
        out.provider_items["reasoning_details"] = std::move(details_);
    } else if (!reasoning_field_.empty() && !calls_.empty()) {
        // Models that think between calls want what they thought so far; after an answer they do not.
        out.provider_items[reasoning_field_] = out.reasoning;
    }
    std::stable_sort(calls_.begin(), calls_.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    std::vector<draft_call> calls;
    for (auto& one : calls_) {
        calls.push_back(std::move(one.call));
    }
    out.stopped = from_finish_reason(finish_reason_, !calls.empty());
    put_calls(out, std::move(calls), call_prefix_);
    return out;
}

} // namespace chalk::model
