#include "protocol/model/dialect/openai.hpp"

#include "protocol/model/dialect/provider_json.hpp"

namespace chalk::model {

namespace {

json assistant_message(const message& said) {
    json out = {{"role", "assistant"}, {"content", to_valid_utf8(said.text)}};
    if (said.provider_items.is_object()) {
        out.update(said.provider_items);
    }
    if (said.tool_calls.empty()) {
        return out;
    }
    if (said.text.empty()) {
        out["content"] = nullptr;
    }
    auto& calls = out["tool_calls"] = json::array();
    for (const auto& call : said.tool_calls) {
        calls.push_back(
            {{"id", call.id},
             {"type", "function"},
             {"function", {{"name", sendable_name(call.name)}, {"arguments", dump_json(sendable_arguments(call))}}}});
    }
    return out;
}

json messages_of(const conversation& all) {
    json messages = json::array();
    for (const auto& one : all) {
        switch (one.from) {
        case role::system:
            messages.push_back({{"role", "system"}, {"content", to_valid_utf8(one.text)}});
            break;
        case role::user:
            messages.push_back({{"role", "user"}, {"content", to_valid_utf8(one.text)}});
            break;
        case role::assistant:
            if (!one.text.empty() || !one.tool_calls.empty()) { // an empty one is refused by some servers
                messages.push_back(assistant_message(one));
            }
            break;
        case role::tool:
            messages.push_back({{"role", "tool"}, {"tool_call_id", one.call_id}, {"content", to_valid_utf8(one.text)}});
            break;
        }
    }
    return messages;
}

class openai_dialect final : public dialect {
  public:
    explicit openai_dialect(openai_flavour flavour) : flavour_(flavour) {}

    api_request make_request(const request& what, const std::string& name, const json& args) const override {
        api_request out{"/v1/chat/completions", {}, json::object()};
        json& body = out.body;
        for (const auto& [key, value] : args.items()) {
            // OpenAI's reasoning models refuse the old name, which other servers alone know.
            const bool renamed = key == "max_tokens" && flavour_ == openai_flavour::openai;
            body[renamed ? "max_completion_tokens" : key] = value;
        }
        body["model"] = name;
        body["stream"] = true;
        body["stream_options"] = {{"include_usage", true}};
        body["messages"] = messages_of(*what.messages);
        if (!what.tools->empty()) {
            auto& tools = body["tools"] = json::array();
            for (const auto& tool : *what.tools) {
                tools.push_back({{"type", "function"},
                                 {"function",
                                  {{"name", tool.name},
                                   {"description", to_valid_utf8(tool.description)},
                                   {"parameters", tool.input_schema}}}});
            }
        }
        return out;
    }

    std::unique_ptr<turn_reader> make_reader(std::string call_prefix) const override {
        return std::make_unique<openai_reader>(std::move(call_prefix));
    }

  private:
    openai_flavour flavour_;
};

} // namespace

std::unique_ptr<dialect> make_openai_dialect(openai_flavour flavour) {
    return std::make_unique<openai_dialect>(flavour);
}

} // namespace chalk::model
