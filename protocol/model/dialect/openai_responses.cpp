#include "protocol/model/dialect/openai_responses.hpp"

#include "protocol/model/dialect/provider_json.hpp"

namespace chalk::model {

namespace {

/// Reasoning that comes back encrypted has to be asked for, and models that do not reason refuse to be asked.
bool may_reason(std::string_view name) {
    for (const std::string_view start : {"gpt-3", "gpt-4", "chatgpt-"}) {
        if (name.starts_with(start)) {
            return false;
        }
    }
    return true;
}

json spoken(const char* who, const char* part, const std::string& text) {
    return {{"type", "message"},
            {"role", who},
            {"content", json::array({{{"type", part}, {"text", to_valid_utf8(text)}}})}};
}

json call_item(const tool_call& call) {
    return {{"type", "function_call"},
            {"call_id", call.id},
            {"name", sendable_name(call.name)},
            {"arguments", dump_json(sendable_arguments(call))}};
}

/// With store=false the API keeps nothing: ids of items mean nothing to it, and reasoning must hold its own encrypted
/// content. Reasoning goes with what it led to: what led to nothing is refused.
void add_kept(json& input, const message& said) {
    std::size_t next_call = 0;
    for (const auto& item : said.provider_items) {
        const auto type = text_at(item, "type");
        if (type == "function_call") {
            if (next_call < said.tool_calls.size()) {
                input.push_back(call_item(said.tool_calls[next_call++]));
            }
        } else if (type == "reasoning") {
            if (!text_at(item, "encrypted_content").empty()) {
                auto& sent = input.emplace_back(item);
                sent.erase("status");
            }
        } else {
            auto& sent = input.emplace_back(item);
            sent.erase("id");
            sent.erase("status");
        }
    }
    while (!input.empty() && text_at(input.back(), "type") == "reasoning") {
        input.erase(input.size() - 1);
    }
}

json input_of(const conversation& all) {
    json input = json::array();
    for (const auto& one : all) {
        switch (one.from) {
        case role::system:
            input.push_back(spoken("system", "input_text", one.text));
            break;
        case role::user:
            input.push_back(spoken("user", "input_text", one.text));
            break;
        case role::tool:
            input.push_back(
                {{"type", "function_call_output"}, {"call_id", one.call_id}, {"output", to_valid_utf8(one.text)}});
            break;
        case role::assistant:
            if (one.provider_items.is_array()) {
                add_kept(input, one);
                break;
            }
            if (!one.text.empty()) {
                input.push_back(spoken("assistant", "output_text", one.text));
            }
            for (const auto& call : one.tool_calls) {
                input.push_back(call_item(call));
            }
            break;
        }
    }
    return input;
}

class openai_responses_dialect final : public dialect {
  public:
    api_request make_request(const request& what, const std::string& name, const json& args) const override {
        api_request out{"/v1/responses", {}, json::object()};
        json& body = out.body;
        body["store"] = false;
        if (may_reason(name)) {
            body["include"] = json::array({"reasoning.encrypted_content"});
        }
        for (const auto& [key, value] : args.items()) {
            if (key == "reasoning_effort") {
                body["reasoning"]["effort"] = value;
            } else if (key == "reasoning" && value.is_object()) {
                body["reasoning"].update(value);
            } else {
                body[key == "max_tokens" ? "max_output_tokens" : key] = value;
            }
        }
        body["model"] = name;
        body["stream"] = true;
        body["input"] = input_of(*what.messages);
        if (!what.tools->empty()) {
            auto& tools = body["tools"] = json::array();
            for (const auto& tool : *what.tools) {
                tools.push_back({{"type", "function"},
                                 {"name", tool.name},
                                 {"description", to_valid_utf8(tool.description)},
                                 {"parameters", tool.input_schema},
                                 {"strict", false}});
            }
        }
        return out;
    }

    std::unique_ptr<turn_reader> make_reader(std::string call_prefix) const override {
        return std::make_unique<openai_responses_reader>(std::move(call_prefix));
    }
};

} // namespace

std::unique_ptr<dialect> make_openai_responses_dialect() {
    return std::make_unique<openai_responses_dialect>();
}

} // namespace chalk::model
