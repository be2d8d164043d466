#include "protocol/gateway/usage_watch.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/model/estimated_tokens.hpp"

#include <algorithm>
#include <initializer_list>

namespace chalk::gateway {

namespace {

constexpr std::size_t longest_line = 4U << 20U;      // response.completed repeats the whole answer
constexpr std::size_t longest_document = 32U << 20U; // answers that are no stream

const json* member(const json& object, std::string_view name) {
    if (!object.is_object()) {
        return nullptr;
    }
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

/// The number at `path`, or 0.
std::uint64_t number(const json& object, std::initializer_list<std::string_view> path) {
    const json* at = &object;
    for (const auto name : path) {
        at = member(*at, name);
        if (at == nullptr) {
            return 0;
        }
    }
    return at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

const json* find_usage(const json& document) {
    if (const json* gemini = member(document, "usageMetadata")) {
        return gemini->is_object() ? gemini : nullptr;
    }
    for (const char* around : {"", "response", "message"}) {
        const json* outer = *around == '\0' ? &document : member(document, around);
        const json* usage = outer == nullptr ? nullptr : member(*outer, "usage");
        if (usage != nullptr && usage->is_object()) {
            return usage;
        }
    }
    return nullptr;
}

/// Counts only grow: later words of one answer are totals, and some servers repeat a part of them.
void raise(std::uint64_t& count, std::uint64_t to) {
    count = std::max(count, to);
}

void read_anthropic(const json& usage, counted_tokens& count) {
    const auto read = number(usage, {"cache_read_input_tokens"});
    const auto written = number(usage, {"cache_creation_input_tokens"});
    raise(count.tokens.cached, read);
    raise(count.cache_write, written);
    raise(count.tokens.input, number(usage, {"input_tokens"}) + read + written);
    raise(count.tokens.output, number(usage, {"output_tokens"}));
}

void read_openai(const json& usage, counted_tokens& count) {
    raise(count.tokens.input, number(usage, {"prompt_tokens"}));
    raise(count.tokens.input, number(usage, {"input_tokens"}));
    raise(count.tokens.cached, number(usage, {"prompt_tokens_details", "cached_tokens"}));
    raise(count.tokens.cached, number(usage, {"input_tokens_details", "cached_tokens"}));
    raise(count.tokens.output, number(usage, {"completion_tokens"}));
    raise(count.tokens.output, number(usage, {"output_tokens"}));
    raise(count.tokens.reasoning, number(usage, {"completion_tokens_details", "reasoning_tokens"}));
    raise(count.tokens.reasoning, number(usage, {"output_tokens_details", "reasoning_tokens"}));
}

void read_gemini(const json& usage, counted_tokens& count) {
    const auto thoughts = number(usage, {"thoughtsTokenCount"});
    raise(count.tokens.input, number(usage, {"promptTokenCount"}) + number(usage, {"toolUsePromptTokenCount"}));
    raise(count.tokens.cached, number(usage, {"cachedContentTokenCount"}));
    raise(count.tokens.output, number(usage, {"candidatesTokenCount"}) + thoughts);
    raise(count.tokens.reasoning, thoughts);
}

/// Does this usage cover the whole answer? Anthropic's message_start knows nothing of the output yet, and a chunk of
/// Gemini's nothing of those that follow: an answer that breaks after it is still estimated.
bool is_final(api_family family, const json& event) {
    if (family != api_family::gemini) {
        const json* type = member(event, "type");
        return type == nullptr || *type != "message_start";
    }
    const json* candidates = member(event, "candidates");
    return candidates == nullptr || !candidates->is_array() ||
           std::all_of(candidates->begin(), candidates->end(),
                       [](const json& one) { return member(one, "finishReason") != nullptr; });
}

} // namespace

void usage_watch::document(std::string_view text) {
    const auto parsed = parse_json(text);
    if (!parsed) {
        return;
    }
    if (!parsed->is_array()) {
        event(*parsed);
        return;
    }
    for (const auto& one : *parsed) { // Gemini's stream that is no stream of events
        event(one);
    }
}

void usage_watch::event(const json& what) {
    const json* usage = find_usage(what);
    if (usage == nullptr) {
        return;
    }
    const auto family = family_of(which_);
    switch (family) {
    case api_family::anthropic:
        read_anthropic(*usage, count_);
        break;
    case api_family::gemini:
        read_gemini(*usage, count_);
        break;
    case api_family::openai:
        read_openai(*usage, count_);
        break;
    }
    counted_ = counted_ || is_final(family, what);
}

void usage_watch::line(std::string_view text) {
    constexpr std::string_view data = "data:";
    if (!text.starts_with(data)) {
        return;
    }
    ++events_;
    // Most events are a word of text: only those that may count are parsed.
    if (text.find("\"usage\"") != std::string_view::npos || text.find("\"usageMetadata\"") != std::string_view::npos) {
        document(text.substr(data.size()));
    }
}

void usage_watch::see(std::string_view bytes) {
    bytes_ += bytes.size();
    if (!is_stream_) {
        if (pending_.size() + bytes.size() <= longest_document && !dropping_) {
            pending_ += bytes;
        } else {
            dropping_ = true;
            pending_.clear();
        }
        return;
    }
    while (!bytes.empty()) {
        const auto end = bytes.find_first_of("\r\n");
        const auto part = bytes.substr(0, end);
        if (pending_.size() + part.size() > longest_line) {
            dropping_ = true;
            pending_.clear();
        }
        if (end == std::string_view::npos) {
            if (!dropping_) {
                pending_ += part;
            }
            return;
        }
        if (!dropping_) {
            if (pending_.empty()) {
                line(part);
            } else {
                pending_ += part;
                line(pending_);
            }
        }
        dropping_ = false;
        pending_.clear();
        bytes.remove_prefix(end + 1);
    }
}

usage_watch::verdict usage_watch::finish(std::size_t request_size) {
    if (is_stream_) {
        line(pending_); // a last line without an end
    } else {
        document(pending_);
    }
    pending_.clear();
    if (counted_ || only_counts(which_)) {
        return {only_counts(which_) ? counted_tokens{} : count_, false};
    }
    if (count_.tokens.input == 0) {
        count_.tokens.input = model::estimated_tokens(request_size);
    }
    // An event is about a token; of an answer in one piece the text is most.
    raise(count_.tokens.output, is_stream_ ? events_ : model::estimated_tokens(bytes_));
    return {count_, true};
}

} // namespace chalk::gateway
