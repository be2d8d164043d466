#include "protocol/model/external_message.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

namespace chalk::model {

namespace {

constexpr std::size_t shown = 200;

failure wrong(std::string_view place, std::string_view why) {
    return model_failure(fmt::format("the backend's message: {}: {}", place, why));
}

std::string_view name_of(role from) {
    switch (from) {
    case role::system:
        return "system";
    case role::assistant:
        return "assistant";
    case role::tool:
        return "tool";
    case role::user:
        break;
    }
    return "user";
}

json to_json(const tool_call& call) {
    return {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}};
}

json to_json(const message& one) {
    json out = {{"role", name_of(one.from)}, {"text", one.text}};
    if (one.from == role::assistant) {
        auto& calls = out["tool_calls"] = json::array();
        for (const auto& call : one.tool_calls) {
            calls.push_back(to_json(call));
        }
    } else if (one.from == role::tool) {
        out["call_id"] = one.call_id;
        out["is_error"] = one.is_error;
    }
    return out;
}

/// Is it an object with no other keys than these?
result<void> check_object(const json& value, std::string_view place, std::initializer_list<std::string_view> keys) {
    if (!value.is_object()) {
        return wrong(place, "expected an object");
    }
    for (const auto& [key, unused] : value.items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
            return wrong(place, fmt::format("unknown key \"{}\"; known are {}", key, fmt::join(keys, ", ")));
        }
    }
    return {};
}

/// Absent or null is empty.
result<void> read_text(const json& object, const char* key, std::string_view place, std::string& into) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) {
        return {};
    }
    if (!found->is_string()) {
        return wrong(fmt::format("{}.{}", place, key), "expected a string");
    }
    into = found->get<std::string>();
    return {};
}

result<tool_call> read_call(const json& value, const std::string& place) {
    if (auto shape = check_object(value, place, {"id", "name", "arguments"}); !shape) {
        return shape.error();
    }
    tool_call call;
    for (const auto& [key, into] : {std::pair{"id", &call.id}, std::pair{"name", &call.name}}) {
        if (auto read = read_text(value, key, place, *into); !read) {
            return read.error();
        }
    }
    if (call.name.empty()) {
        return wrong(place + ".name", "expected a tool's name");
    }
    if (const auto found = value.find("arguments"); found != value.end()) {
        if (!found->is_object()) {
            return wrong(place + ".arguments", "expected an object");
        }
        call.arguments = *found;
    }
    return call;
}

/// A call without an id gets one; two of the same id are a mistake that results could not be told apart by.
result<void> read_calls(const json& message, const request& asked, turn& into) {
    const auto found = message.find("tool_calls");
    if (found == message.end() || found->is_null()) {
        return {};
    }
    if (!found->is_array()) {
        return wrong("message.tool_calls", "expected a list");
    }
    std::set<std::string> ids;
    for (const auto& entry : *found) {
        const auto number = into.tool_calls.size();
        const auto place = fmt::format("message.tool_calls[{}]", number);
        auto call = read_call(entry, place);
        if (!call) {
            return call.error();
        }
        if (call->id.empty()) {
            call->id = fmt::format("call_{}_{}_{}", asked.step, asked.turn, number);
        }
        if (!ids.insert(call->id).second) {
            return wrong(place + ".id", "an earlier call of this message has the same");
        }
        into.tool_calls.push_back(std::move(*call));
    }
    return {};
}

result<void> read_usage(const json& message, token_usage& into) {
    const auto found = message.find("usage");
    if (found == message.end() || found->is_null()) {
        return {};
    }
    if (auto shape = check_object(*found, "message.usage", {"input", "cached", "output", "reasoning"}); !shape) {
        return shape.error();
    }
    const std::array<std::pair<const char*, std::uint64_t*>, 4> counts = {
        {{"input", &into.input}, {"cached", &into.cached}, {"output", &into.output}, {"reasoning", &into.reasoning}}};
    for (const auto& [key, count] : counts) {
        if (const auto value = found->find(key); value != found->end()) {
            if (!value->is_number_unsigned()) {
                return wrong(fmt::format("message.usage.{}", key), "expected a number of tokens");
            }
            *count = value->get<std::uint64_t>();
        }
    }
    return {};
}

result<void> read_stop_reason(const json& message, turn& into) {
    into.stopped = into.tool_calls.empty() ? stop_reason::end : stop_reason::tool_calls;
    std::string text;
    if (auto read = read_text(message, "stop_reason", "message", text); !read || text.empty()) {
        return read;
    }
    for (const auto reason : {stop_reason::end, stop_reason::tool_calls, stop_reason::length, stop_reason::refusal}) {
        if (text == to_string(reason)) {
            into.stopped = reason;
            return {};
        }
    }
    return wrong("message.stop_reason", "expected end, tool_calls, length or refusal");
}

} // namespace

std::string external_request_id(const request& what) {
    return fmt::format("{}-{}", what.step, what.turn);
}

json external_request(const request& what) {
    auto messages = json::array();
    for (const auto& one : *what.messages) {
        messages.push_back(to_json(one));
    }
    auto tools = json::array();
    for (const auto& tool : *what.tools) {
        tools.push_back({{"name", tool.name}, {"description", tool.description}, {"input_schema", tool.input_schema}});
    }
    return {{"request", external_request_id(what)},
            {"step", what.step},
            {"turn", what.turn},
            {"messages", std::move(messages)},
            {"tools", std::move(tools)}};
}

result<turn> parse_external_message(std::string_view text, const request& asked) {
    const auto parsed = parse_json(text);
    if (!parsed) {
        return wrong(fmt::format("line {}", parsed.error().line),
                     fmt::format("not JSON: {}; it begins with {}", parsed.error().message,
                                 to_valid_utf8(std::string(text.substr(0, shown)))));
    }
    if (auto shape = check_object(*parsed, "the whole", {"type", "request", "message"}); !shape) {
        return shape.error();
    }
    if (parsed->value("type", json()) != "Message") {
        return wrong("type", R"(expected "Message" or "Waiting")");
    }
    if (parsed->value("request", json()) != external_request_id(asked)) {
        return wrong("request", fmt::format("expected \"{}\", which was asked", external_request_id(asked)));
    }
    const auto message = parsed->value("message", json());
    if (auto shape = check_object(message, "message", {"text", "reasoning", "tool_calls", "stop_reason", "usage"});
        !shape) {
        return shape.error();
    }
    turn out;
    for (const auto& read :
         {read_text(message, "text", "message", out.text), read_text(message, "reasoning", "message", out.reasoning),
          read_calls(message, asked, out), read_usage(message, out.usage), read_stop_reason(message, out)}) {
        if (!read) {
            return read.error();
        }
    }
    return out;
}

} // namespace chalk::model
