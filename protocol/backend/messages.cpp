#include "protocol/backend/messages.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::backend {

namespace {

constexpr std::size_t quoted = 200;

failure unexpected(std::string_view text) {
    return model_failure(fmt::format("its answer is no {{\"type\":\"Acknowledged\",\"seq\":N}} but {}",
                                     text.empty() ? "empty" : to_valid_utf8(std::string(text.substr(0, quoted)))));
}

} // namespace

events_message::events_message(const stream& of)
    : text_(fmt::format(R"({{"type":"Events","stream":"{}","run_id":"{}","attempt":{},"events":[)", of.id, of.run_id,
                        of.attempt)) {} // an id's characters need no escape

void events_message::add(std::string_view line) {
    if (!std::exchange(first_, false)) {
        text_ += ',';
    }
    text_ += line;
}

std::string events_message::finish() && {
    text_ += "]}";
    return std::move(text_);
}

result<std::uint64_t> parse_acknowledged(std::string_view text) {
    const auto parsed = parse_json(text);
    if (!parsed || !parsed->is_object() || parsed->value("type", json()) != "Acknowledged") {
        return unexpected(text);
    }
    const auto seq = parsed->find("seq");
    if (seq == parsed->end() || !seq->is_number_unsigned()) {
        return unexpected(text);
    }
    return seq->get<std::uint64_t>();
}

std::string next_message_request(const stream& of, json asked) {
    asked["type"] = "NextMessage";
    asked["stream"] = of.id;
    asked["run_id"] = of.run_id;
    asked["attempt"] = of.attempt;
    return dump_json(asked);
}

bool is_waiting(std::string_view text) {
    const auto parsed = parse_json(text);
    return parsed && parsed->is_object() && parsed->value("type", json()) == "Waiting";
}

} // namespace chalk::backend
