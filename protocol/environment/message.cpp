#include "protocol/environment/message.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <optional>

namespace chalk::environment {

namespace {

std::optional<log_level> parse_level(const std::string& text) {
    if (text == "debug") {
        return log_level::debug;
    }
    if (text == "info") {
        return log_level::info;
    }
    if (text == "warning") {
        return log_level::warning;
    }
    if (text == "error") {
        return log_level::error;
    }
    return std::nullopt;
}

const json* member(const json& object, const char* name) {
    auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

message parse_log(const json& params) {
    const auto* level = member(params, "level");
    const auto* text = member(params, "text");
    if (level == nullptr || !level->is_string() || text == nullptr || !text->is_string()) {
        return violation{"a log notification without a level and a text"};
    }
    auto known = parse_level(level->get<std::string>());
    if (!known) {
        return violation{fmt::format("a log notification of level \"{}\"", level->get<std::string>())};
    }
    const auto* call = member(params, "call");
    if (call != nullptr && !call->is_number_unsigned()) {
        return violation{"a log notification whose call is no call's id"};
    }
    return log_note{{*known, "environment", text->get<std::string>()},
                    call != nullptr ? std::optional(call->get<std::uint64_t>()) : std::nullopt};
}

message parse_progress(const json& params) {
    const auto* call = member(params, "call");
    const auto* done = member(params, "done");
    if (call == nullptr || !call->is_number_unsigned() || done == nullptr || !done->is_number()) {
        return violation{"a progress notification without a call's id and a number that is done"};
    }
    progress_note note{call->get<std::uint64_t>(), {done->get<double>(), std::nullopt, {}}};
    if (const auto* total = member(params, "total"); total != nullptr && !total->is_null()) {
        if (!total->is_number()) {
            return violation{"a progress notification whose total is no number"};
        }
        note.progress.total = total->get<double>();
    }
    if (const auto* text = member(params, "message"); text != nullptr && !text->is_null()) {
        if (!text->is_string()) {
            return violation{"a progress notification whose message is no text"};
        }
        note.progress.message = text->get<std::string>();
    }
    return note;
}

message parse_notification(const json& object, const std::string& method) {
    if (object.contains("id")) {
        return violation{fmt::format("a request for \"{}\"; an environment answers requests and sends none", method)};
    }
    if (method != "log" && method != "progress") {
        return violation{fmt::format("an unknown notification \"{}\"", method)};
    }
    const auto* params = member(object, "params");
    static const json none = json::object();
    const json& given = params != nullptr && params->is_object() ? *params : none;
    return method == "log" ? parse_log(given) : parse_progress(given);
}

message parse_error(std::uint64_t id, const json& error) {
    const auto* code = error.is_object() ? member(error, "code") : nullptr;
    const auto* text = error.is_object() ? member(error, "message") : nullptr;
    if (code == nullptr || !code->is_number_integer() || text == nullptr || !text->is_string()) {
        return violation{"an error without a code and a message"};
    }
    call_error out{call_error_kind::remote, code->get<int>(), text->get<std::string>(), {}};
    if (const auto* data = member(error, "data"); data != nullptr && data->is_object()) {
        if (const auto* traceback = member(*data, "traceback"); traceback != nullptr && traceback->is_string()) {
            out.details = traceback->get<std::string>();
        }
    }
    return answer{id, std::move(out)};
}

message parse_answer(json& object) {
    const auto* id = member(object, "id");
    const auto* error = member(object, "error");
    if (id != nullptr && id->is_null() && error != nullptr) {
        return violation{fmt::format("it could not read a request of ours: {}", dump_json(*error))};
    }
    if (id == nullptr || !id->is_number_unsigned()) {
        return violation{"an answer without a call's id"};
    }
    auto value = object.find("result");
    if ((value == object.end()) == (error == nullptr)) {
        return violation{"an answer needs either a result or an error"};
    }
    auto number = id->get<std::uint64_t>();
    return error != nullptr ? parse_error(number, *error)
                            : message{answer{number, call_result(boost::system::in_place_value, std::move(*value))}};
}

} // namespace

message parse_message(std::string_view line) {
    auto parsed = parse_json(line);
    if (!parsed) {
        return violation{
            fmt::format("a line that is not JSON: {} (column {})", parsed.error().message, parsed.error().column)};
    }
    if (!parsed->is_object()) {
        return violation{"a line that is not a JSON object"};
    }
    const auto* version = member(*parsed, "jsonrpc");
    if (version == nullptr || *version != "2.0") {
        return violation{"a message that is not JSON-RPC 2.0"};
    }
    if (const auto* method = member(*parsed, "method"); method != nullptr) {
        return method->is_string() ? parse_notification(*parsed, method->get<std::string>())
                                   : message{violation{"a method that is not a string"}};
    }
    return parse_answer(*parsed);
}

std::string request_line(std::uint64_t id, std::string_view method, const json& params) {
    return dump_json({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
}

std::string cancel_line(std::uint64_t id) {
    return dump_json({{"jsonrpc", "2.0"}, {"method", "cancel"}, {"params", {{"id", id}}}});
}

} // namespace chalk::environment
