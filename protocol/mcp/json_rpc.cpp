#include "protocol/mcp/json_rpc.hpp"

#include "protocol/core/json_text.hpp"

#include <iterator>
#include <optional>
#include <utility>

namespace chalk::mcp {
namespace {

bool is_id(const json& value) {
    return value.is_string() || value.is_number_integer();
}

/// Why `message` is neither a request, a notification nor a response.
std::optional<std::string_view> defect(const json& message) {
    if (!message.is_object() || message.value("jsonrpc", json()) != "2.0") {
        return "a message is an object with \"jsonrpc\": \"2.0\"";
    }
    const auto method = message.find("method");
    if (method == message.end()) {
        const bool response = message.contains("id") && (message.contains("result") || message.contains("error"));
        return response ? std::nullopt : std::optional<std::string_view>("a message has a method or a result");
    }
    if (!method->is_string()) {
        return "a method is a text";
    }
    if (message.contains("id") && !is_id(message["id"])) {
        return "an id is a text or a whole number";
    }
    const auto params = message.find("params");
    if (params != message.end() && !params->is_object()) {
        return "params are an object";
    }
    return std::nullopt;
}

} // namespace

std::variant<message_body, rpc_failure> parse_body(std::string_view text) {
    auto parsed = parse_json(text);
    if (!parsed) {
        return rpc_failure{rpc_error::parse, "not JSON: " + parsed.error().message, nullptr};
    }
    message_body body;
    body.batch = parsed->is_array();
    if (body.batch) {
        body.messages.assign(std::make_move_iterator(parsed->begin()), std::make_move_iterator(parsed->end()));
    } else {
        body.messages.push_back(std::move(*parsed));
    }
    if (body.messages.empty() || body.messages.size() > most_batch) {
        return rpc_failure{rpc_error::invalid_request, "a batch has 1 to 100 messages", nullptr};
    }
    for (const auto& message : body.messages) {
        if (const auto wrong = defect(message)) {
            return rpc_failure{rpc_error::invalid_request, std::string(*wrong), nullptr};
        }
    }
    return body;
}

bool is_request(const json& message) {
    return message.contains("method") && message.contains("id");
}

json make_error(const json& id, const rpc_failure& why) {
    json error = {{"code", static_cast<int>(why.code)}, {"message", why.message}};
    if (!why.data.is_null()) {
        error["data"] = why.data;
    }
    return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}};
}

json make_error(const json& id, rpc_error code, std::string_view message) {
    return make_error(id, rpc_failure{code, std::string(message), nullptr});
}

json make_result(const json& id, json result) {
    json out = {{"jsonrpc", "2.0"}, {"id", id}};
    out["result"] = std::move(result);
    return out;
}

std::string text_of(const json& object, const char* key) {
    if (!object.is_object()) {
        return {};
    }
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace chalk::mcp
