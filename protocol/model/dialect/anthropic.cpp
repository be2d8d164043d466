#include "protocol/model/dialect/anthropic.hpp"

#include "protocol/model/dialect/provider_json.hpp"

#include <algorithm>

namespace chalk::model {

namespace {

/// Required by the API; a user sets another as max_tokens.
constexpr int default_max_tokens = 32'000;

/// The API refuses text blocks without a visible character.
bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

json text_block(const std::string& text) {
    return {{"type", "text"}, {"text", to_valid_utf8(text)}};
}

json call_block(const tool_call& call) {
    return {
        {"type", "tool_use"}, {"id", call.id}, {"name", sendable_name(call.name)}, {"input", sendable_arguments(call)}};
}

/// An assistant's blocks as they came, since signatures cover reasoning as it came. Calls are the exception: an id may
/// have been made up, and arguments may not have been an object.
json kept_blocks(const message& said) {
    json blocks = json::array();
    std::size_t next_call = 0;
    for (const auto& item : said.provider_items) {
        if (text_at(item, "type") == "tool_use") {
            if (next_call < said.tool_calls.size()) {
                blocks.push_back(call_block(said.tool_calls[next_call++]));
            }
        } else if (text_at(item, "type") != "text" || !is_blank(text_at(item, "text"))) {
            blocks.push_back(item);
        }
    }
    return blocks;
}

json assistant_blocks(const message& said) {
    if (said.provider_items.is_array()) {
        return kept_blocks(said);
    }
    json blocks = json::array();
    if (!is_blank(said.text)) {
        blocks.push_back(text_block(said.text));
    }
    for (const auto& call : said.tool_calls) {
        blocks.push_back(call_block(call));
    }
    return blocks;
}

json result_block(const message& result) {
    json block = {{"type", "tool_result"}, {"tool_use_id", result.call_id}};
    if (!is_blank(result.text)) {
        block["content"] = to_valid_utf8(result.text);
    }
    if (result.is_error) {
        block["is_error"] = true;
    }
    return block;
}

json blocks_of(const message& one) {
    switch (one.from) {
    case role::assistant: {
        auto blocks = assistant_blocks(one);
        // The API takes no message that ends in reasoning: such a turn said nothing.
        const auto last = blocks.empty() ? std::string_view{} : text_at(blocks.back(), "type");
        return last == "thinking" || last == "redacted_thinking" ? json::array() : blocks;
    }
    case role::tool:
        return json::array({result_block(one)});
    case role::user:
        return is_blank(one.text) ? json::array() : json::array({text_block(one.text)});
    case role::system:
        break;
    }
    return json::array();
}

/// Roles alternate: what two messages in a row of one role say becomes one.
json messages_of(const conversation& all, std::string& system) {
    json messages = json::array();
    for (const auto& one : all) {
        if (one.from == role::system) {
            system += system.empty() ? "" : "\n\n";
            system += to_valid_utf8(one.text);
            continue;
        }
        auto blocks = blocks_of(one);
        if (blocks.empty()) {
            continue;
        }
        const char* speaker = one.from == role::assistant ? "assistant" : "user";
        if (messages.empty() || messages.back()["role"] != speaker) {
            messages.push_back({{"role", speaker}, {"content", json::array()}});
        }
        for (auto& block : blocks) {
            messages.back()["content"].push_back(std::move(block));
        }
    }
    return messages;
}

class anthropic_dialect final : public dialect {
  public:
    api_request make_request(const request& what, const std::string& name, const json& args) const override {
        api_request out{"/v1/messages", {{"anthropic-version", "2023-06-01"}}, json::object()};
        json& body = out.body;
        body["max_tokens"] = default_max_tokens;
        for (const auto& [key, value] : args.items()) {
            if (key == "reasoning_effort") {
                body["output_config"]["effort"] = value;
            } else if (key == "anthropic_beta") {
                out.headers.emplace_back("anthropic-beta", value.is_string() ? value.get<std::string>() : "");
            } else if (key == "output_config" && value.is_object()) {
                body["output_config"].update(value);
            } else {
                body[key] = value;
            }
        }
        body["model"] = name;
        body["stream"] = true;
        std::string system;
        body["messages"] = messages_of(*what.messages, system);
        if (!is_blank(system)) {
            body["system"] = std::move(system);
        }
        if (!what.tools->empty()) {
            auto& tools = body["tools"] = json::array();
            for (const auto& tool : *what.tools) {
                tools.push_back({{"name", tool.name},
                                 {"description", to_valid_utf8(tool.description)},
                                 {"input_schema", tool.input_schema}});
            }
        }
        return out;
    }

    std::unique_ptr<turn_reader> make_reader(std::string call_prefix) const override {
        return std::make_unique<anthropic_reader>(std::move(call_prefix));
    }
};

} // namespace

std::unique_ptr<dialect> make_anthropic_dialect() {
    return std::make_unique<anthropic_dialect>();
}

} // namespace chalk::model
