#include "protocol/model/dialect/gemini.hpp"

#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace chalk::model {

namespace {

/// A model that does not think refuses to be asked for thoughts, and so does one that thinks only when told to.
bool thinks_unasked(std::string_view name) {
    constexpr std::array<std::string_view, 4> others = {"gemini-1", "gemini-2.0", "gemini-2.5-flash-lite", "gemma"};
    return std::none_of(others.begin(), others.end(),
                        [name](std::string_view start) { return name.starts_with(start); });
}

/// Of models before Gemini 3, which take a number of tokens in a level's place.
json budget_of(const json& effort) {
    constexpr std::array<std::pair<std::string_view, int>, 5> budgets = {
        {{"none", 0}, {"minimal", 1'024}, {"low", 1'024}, {"medium", 8'192}, {"high", 24'576}}};
    for (const auto& [name, tokens] : budgets) {
        if (effort == name) {
            return tokens;
        }
    }
    return effort; // the provider says what it takes
}

json thinking_of(std::string_view name, const json& args) {
    json thinking = json::object();
    bool thinks = thinks_unasked(name);
    if (const auto& effort = value_at(args, "reasoning_effort"); !effort.is_null()) {
        const bool has_levels = !name.starts_with("gemini-2");
        thinking[has_levels ? "thinkingLevel" : "thinkingBudget"] = has_levels ? effort : budget_of(effort);
        thinks = effort != "none";
    }
    if (thinks) {
        thinking["includeThoughts"] = true;
    }
    return thinking;
}

/// How a call went out, for its result to say the same.
struct sent_call {
    std::string name;
    bool has_id = false;
};
using sent_calls = std::map<std::string, sent_call>; ///< by the id that the conversation has

/// `kept`: the part that it came in, with its signature. An id goes back where the provider gave one: it wants its own
/// or none.
json call_part(const tool_call& call, json kept, sent_calls& sent) {
    const bool has_id = value_at(kept, "functionCall").contains("id");
    json out = {{"name", sendable_name(call.name)}, {"args", sendable_arguments(call)}};
    if (has_id) {
        out["id"] = call.id;
    }
    sent[call.id] = {sendable_name(call.name), has_id};
    kept["functionCall"] = std::move(out);
    return kept;
}

/// Parts as they came, since signatures stand for thoughts at their place. Empty text says nothing, unless it carries a
/// signature.
json kept_parts(const message& said, sent_calls& sent) {
    json parts = json::array();
    std::size_t next_call = 0;
    for (const auto& item : said.provider_items) {
        if (is_gemini_call(item)) {
            if (next_call < said.tool_calls.size()) {
                parts.push_back(call_part(said.tool_calls[next_call++], item, sent));
            }
        } else if (item != json{{"text", ""}}) {
            parts.push_back(item);
        }
    }
    return parts;
}

json model_parts(const message& said, sent_calls& sent) {
    json parts = json::array();
    if (said.provider_items.is_array()) {
        parts = kept_parts(said, sent);
    } else {
        if (!said.text.empty()) {
            parts.push_back({{"text", to_valid_utf8(said.text)}});
        }
        for (const auto& call : said.tool_calls) {
            parts.push_back(call_part(call, json::object(), sent));
        }
    }
    // A turn of thoughts alone said nothing.
    const bool speaks =
        std::any_of(parts.begin(), parts.end(), [](const json& part) { return value_at(part, "thought") != true; });
    return speaks ? parts : json::array();
}

json result_part(const message& result, const sent_calls& sent) {
    json out = {{"response", {{result.is_error ? "error" : "output", to_valid_utf8(result.text)}}}};
    const auto call = sent.find(result.call_id);
    out["name"] = call == sent.end() ? sendable_name({}) : call->second.name;
    if (call != sent.end() && call->second.has_id) {
        out["id"] = result.call_id;
    }
    return {{"functionResponse", std::move(out)}};
}

json parts_of(const message& one, sent_calls& sent) {
    switch (one.from) {
    case role::assistant:
        return model_parts(one, sent);
    case role::tool:
        return json::array({result_part(one, sent)});
    case role::user:
        return one.text.empty() ? json::array() : json::array({{{"text", to_valid_utf8(one.text)}}});
    case role::system:
        break;
    }
    return json::array();
}

/// Roles alternate, and all results of a turn's calls stand in one content.
json contents_of(const conversation& all, std::string& system) {
    json contents = json::array();
    sent_calls sent;
    for (const auto& one : all) {
        if (one.from == role::system) {
            system += system.empty() ? "" : "\n\n";
            system += to_valid_utf8(one.text);
            continue;
        }
        auto parts = parts_of(one, sent);
        if (parts.empty()) {
            continue;
        }
        const char* speaker = one.from == role::assistant ? "model" : "user";
        if (contents.empty() || contents.back()["role"] != speaker) {
            contents.push_back({{"role", speaker}, {"parts", json::array()}});
        }
        for (auto& part : parts) {
            contents.back()["parts"].push_back(std::move(part));
        }
    }
    return contents;
}

class gemini_dialect final : public dialect {
  public:
    api_request make_request(const request& what, const std::string& name, const json& args) const override {
        api_request out{fmt::format("/v1beta/models/{}:streamGenerateContent?alt=sse", name), {}, json::object()};
        json& body = out.body;
        json settings = json::object();
        if (auto thinking = thinking_of(name, args); !thinking.empty()) {
            settings["thinkingConfig"] = std::move(thinking);
        }
        for (const auto& [key, value] : args.items()) {
            if (key == "max_tokens") {
                settings["maxOutputTokens"] = value;
            } else if (key == "generationConfig" && value.is_object()) {
                settings.update(value);
            } else if (key != "reasoning_effort") {
                body[key] = value;
            }
        }
        if (!settings.empty() && !body.contains("generationConfig")) {
            body["generationConfig"] = std::move(settings);
        }
        std::string system;
        body["contents"] = contents_of(*what.messages, system);
        if (!system.empty()) {
            body["systemInstruction"] = {{"parts", json::array({{{"text", std::move(system)}}})}};
        }
        if (!what.tools->empty()) {
            json declared = json::array();
            for (const auto& tool : *what.tools) {
                declared.push_back({{"name", tool.name},
                                    {"description", to_valid_utf8(tool.description)},
                                    {"parametersJsonSchema", tool.input_schema}});
            }
            body["tools"] = json::array({{{"functionDeclarations", std::move(declared)}}});
        }
        return out;
    }

    std::unique_ptr<turn_reader> make_reader(std::string call_prefix) const override {
        return std::make_unique<gemini_reader>(std::move(call_prefix));
    }
};

} // namespace

std::unique_ptr<dialect> make_gemini_dialect() {
    return std::make_unique<gemini_dialect>();
}

} // namespace chalk::model
