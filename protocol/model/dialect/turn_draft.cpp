#include "protocol/model/dialect/turn_draft.hpp"

#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace chalk::model {

namespace {

/// Of arguments that cannot be used: enough for a person, and for the model, to see what they were.
constexpr std::size_t kept_of_defect = 4U << 10U;
constexpr std::size_t longest_name = 64;

struct arguments_read {
    json value;
    std::string defect;
};

arguments_read read_arguments(draft_call& call) {
    if (call.size > most_arguments) {
        return {
            fmt::format("{}... [{} bytes in all]", to_valid_utf8(call.arguments.substr(0, kept_of_defect)), call.size),
            fmt::format("the arguments have {} bytes; at most {} are allowed, so the tool was not called", call.size,
                        most_arguments)};
    }
    if (call.arguments.find_first_not_of(" \t\r\n") == std::string::npos) {
        return {json::object(), {}};
    }
    auto parsed = parse_json(call.arguments); // with the bound of all JSON from outside: it goes to a tool
    if (!parsed) {
        parsed = parse_provider_json(call.arguments);
        if (parsed && nested_deeper_than(call.arguments, max_json_depth)) {
            parsed = json_text_error{1, 1, fmt::format("nested more than {} levels deep", max_json_depth)};
        }
    }
    if (!parsed) {
        return {to_valid_utf8(std::move(call.arguments)),
                fmt::format("the arguments are not valid JSON (line {}, column {}: {}), so the tool was not called",
                            parsed.error().line, parsed.error().column, parsed.error().message)};
    }
    if (!parsed->is_object()) {
        return {to_valid_utf8(std::move(call.arguments)),
                fmt::format("the arguments must be a JSON object and not {}, so the tool was not called",
                            parsed->type_name())};
    }
    return {std::move(*parsed), {}};
}

} // namespace

void draft_call::add(std::string_view part) {
    size += part.size();
    arguments += part.substr(0, most_arguments - std::min(most_arguments, arguments.size()));
}

void put_calls(turn& into, std::vector<draft_call> calls, const std::string& prefix) {
    std::set<std::string> ids;
    bool any_defect = false;
    for (auto& call : calls) {
        if (call.id.empty() || !ids.insert(call.id).second) {
            call.id = fmt::format("{}_{}", prefix, into.tool_calls.size());
            ids.insert(call.id);
        }
        auto [arguments, defect] = read_arguments(call);
        any_defect = any_defect || !defect.empty();
        into.tool_calls.push_back({std::move(call.id), std::move(call.name), std::move(arguments)});
        into.call_defects.push_back(std::move(defect));
    }
    if (!any_defect) {
        into.call_defects.clear();
    }
}

json sendable_arguments(const tool_call& call) {
    return call.arguments.is_object() ? call.arguments : json{{"invalid_arguments", call.arguments}};
}

std::string sendable_name(const std::string& name) {
    auto out = name.substr(0, longest_name);
    for (auto& c : out) {
        const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        c = fine || c == '-' ? c : '_';
    }
    return out.empty() ? "unnamed" : out;
}

bool draft_reader::on_event(sse_event event) {
    if (done_ || failed_) {
        return false;
    }
    if (event.data == "[DONE]") {
        complete();
        return false;
    }
    auto parsed = parse_provider_json(std::move(event.data));
    if (!parsed) {
        fail(turn_failure::what::aborted, fmt::format("the stream holds what is not JSON (column {}: {})",
                                                      parsed.error().column, parsed.error().message));
    } else if (auto error = find_error(*parsed)) {
        fail(*error);
    } else if (parsed->is_object()) {
        read(*parsed);
    }
    return !done_ && !failed_;
}

turn_result draft_reader::finish(std::string_view broke) {
    if (failed_) {
        failed_->half = take();
        return std::move(*failed_);
    }
    if (auto why = missing(); !why.empty()) {
        auto message = broke.empty() ? fmt::format("the stream ended early: {}", why)
                                     : fmt::format("the stream broke: {} ({})", broke, why);
        return turn_failure(model_failure(std::move(message)), turn_failure::what::aborted, take());
    }
    return take();
}

turn draft_reader::take_half() {
    return take();
}

void draft_reader::say(std::string& into, std::string_view part) {
    into += part.substr(0, most_text - std::min(most_text, into.size()));
    if (into.size() == most_text) {
        fail(turn_failure::what::ended, fmt::format("the turn holds more than {} bytes of text", most_text));
    }
}

void draft_reader::fail(turn_failure::what kind, std::string message) {
    if (!failed_) {
        failed_.emplace(model_failure(std::move(message)), kind);
    }
}

void draft_reader::fail(const provider_error& error) {
    fail(error.context_overflow ? turn_failure::what::context_overflow : turn_failure::what::aborted,
         "the provider broke the stream off: " + error.text());
}

} // namespace chalk::model
