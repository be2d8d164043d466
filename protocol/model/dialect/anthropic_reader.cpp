#include "protocol/model/dialect/anthropic.hpp"
#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

namespace chalk::model {

namespace {

/// A hostile stream may open any number of blocks.
constexpr std::size_t most_blocks = 1'000;

stop_reason from_stop_reason(std::string_view name, bool has_calls) {
    if (name == "max_tokens") {
        return stop_reason::length;
    }
    if (name == "pause_turn") {
        return stop_reason::paused;
    }
    if (name == "refusal") {
        return stop_reason::refusal;
    }
    if (name == "model_context_window_exceeded") {
        return stop_reason::context;
    }
    return has_calls ? stop_reason::tool_calls : stop_reason::end; // tool_use, end_turn, stop_sequence, unknown ones
}

std::string& text_in(json& block, const char* key) {
    auto& value = block[key];
    if (!value.is_string()) {
        value = std::string();
    }
    return value.get_ref<std::string&>();
}

} // namespace

void anthropic_reader::read(json& event) {
    const auto type = text_at(event, "type");
    if (type == "message_start") {
        count(value_at(value_at(event, "message"), "usage"));
    } else if (type == "content_block_start") {
        start_block(event);
    } else if (type == "content_block_delta") {
        add_delta(event);
    } else if (type == "message_delta") {
        count(value_at(event, "usage"));
        if (const auto reason = text_at(value_at(event, "delta"), "stop_reason"); !reason.empty()) {
            stop_reason_ = reason;
        }
    } else if (type == "message_stop") {
        stopped_ = true;
        complete();
    }
}

void anthropic_reader::start_block(json& event) {
    const auto found = event.find("content_block");
    if (found == event.end() || !found->is_object()) {
        return;
    }
    if (blocks_.size() >= most_blocks) {
        fail(turn_failure::what::ended, fmt::format("the turn holds more than {} blocks", most_blocks));
        return;
    }
    auto& made = blocks_[count_at(event, "index").value_or(blocks_.size())];
    made = {};
    made.kept = std::move(*found);
    if (text_at(made.kept, "type") == "tool_use") {
        made.call.id = text_at(made.kept, "id");
        made.call.name = text_at(made.kept, "name");
        // Nearly always {}: the arguments then come in pieces. A server that does not stream them has them here.
        if (const auto& input = value_at(made.kept, "input"); input.is_object() && !input.empty()) {
            made.call.add(dump_json(input));
        }
        made.kept = {{"type", "tool_use"}};
    }
}

void anthropic_reader::add_delta(const json& event) {
    const auto found = blocks_.find(count_at(event, "index").value_or(0));
    if (found == blocks_.end()) {
        return;
    }
    auto& [kept, call] = found->second;
    const auto& delta = value_at(event, "delta");
    const auto type = text_at(delta, "type");
    const auto add = [this, &delta, &into = kept](const char* key) { // clang before 16 captures no bindings by name
        const auto part = text_at(delta, key);
        said_ += part.size();
        if (said_ > most_text) {
            fail(turn_failure::what::ended, fmt::format("the turn holds more than {} bytes of text", most_text));
            return;
        }
        text_in(into, key) += part;
    };
    if (type == "text_delta") {
        add("text");
    } else if (type == "thinking_delta") {
        add("thinking");
    } else if (type == "signature_delta") {
        add("signature");
    } else if (type == "input_json_delta") {
        call.add(text_at(delta, "partial_json"));
    }
}

/// Counts are cumulative, and message_delta may leave out those that have not changed.
void anthropic_reader::count(const json& usage) {
    fresh_ = count_at(usage, "input_tokens").value_or(fresh_);
    written_ = count_at(usage, "cache_creation_input_tokens").value_or(written_);
    cached_ = count_at(usage, "cache_read_input_tokens").value_or(cached_);
    output_ = count_at(usage, "output_tokens").value_or(output_);
}

std::string anthropic_reader::missing() const {
    if (!stopped_) {
        return "there was no message_stop";
    }
    return stop_reason_.empty() ? "there was no stop reason" : "";
}

turn anthropic_reader::take() {
    turn out;
    std::vector<draft_call> calls;
    out.provider_items = json::array();
    for (auto& [index, one] : blocks_) {
        const auto type = text_at(one.kept, "type");
        if (type == "text") {
            out.text += text_at(one.kept, "text");
        } else if (type == "thinking") {
            out.reasoning += text_at(one.kept, "thinking");
        } else if (type == "tool_use") {
            if (calls.size() == most_calls) {
                continue; // its block goes too: each call that goes back needs a result
            }
            calls.push_back(std::move(one.call));
        }
        out.provider_items.push_back(std::move(one.kept));
    }
    out.stopped = from_stop_reason(stop_reason_, !calls.empty());
    put_calls(out, std::move(calls), call_prefix_);
    out.usage = {fresh_ + written_ + cached_, cached_, output_, 0};
    return out;
}

} // namespace chalk::model
