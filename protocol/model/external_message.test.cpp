#include "protocol/model/external_message.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::model;

namespace {

request asked() {
    request what;
    what.step = 1;
    what.turn = 2;
    auto said = std::make_shared<conversation>();
    said->push_back({role::system, "be kind", {}, {}, false});
    said->push_back({role::user, "greet", {}, {}, false});
    said->push_back({role::assistant, "", {{"c1", "greet", {{"name", "x"}}}}, {}, false});
    said->push_back({role::tool, "hello", {}, "c1", true});
    what.messages = said;
    what.tools = std::make_shared<std::vector<mcp::tool_spec>>(
        std::vector<mcp::tool_spec>{{"greet", "greets", {{"type", "object"}}}});
    return what;
}

result<turn> parsed(const json& message) {
    return parse_external_message(json{{"type", "Message"}, {"request", "1-2"}, {"message", message}}.dump(), asked());
}

std::string refused(const std::string& text) {
    const auto message = parse_external_message(text, asked());
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().kind == error_class::model);
    return message.error().message;
}
std::string refused(const json& message) {
    return refused(json{{"type", "Message"}, {"request", "1-2"}, {"message", message}}.dump());
}
bool holds(const std::string& text, std::string_view part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("an external agent is shown the conversation and the tools") {
    const auto out = external_request(asked());
    CHECK(out["request"] == "1-2");
    CHECK(out["step"] == 1);
    CHECK(out["turn"] == 2);
    CHECK(out["messages"][0] == json{{"role", "system"}, {"text", "be kind"}});
    CHECK(out["messages"][2]["tool_calls"][0] == json{{"id", "c1"}, {"name", "greet"}, {"arguments", {{"name", "x"}}}});
    CHECK(out["messages"][3] == json{{"role", "tool"}, {"text", "hello"}, {"call_id", "c1"}, {"is_error", true}});
    CHECK(out["tools"][0]["input_schema"]["type"] == "object");
}

TEST_CASE("an external agent's message is a turn") {
    const auto one =
        parsed({{"text", "hi"},
                {"reasoning", nullptr},
                {"tool_calls", {{{"name", "greet"}, {"arguments", {{"name", "y"}}}}, {{"id", "b"}, {"name", "g"}}}},
                {"usage", {{"input", 3}, {"output", 4}}}})
            .value();
    CHECK(one.text == "hi");
    REQUIRE(one.tool_calls.size() == 2);
    CHECK(one.tool_calls[0].id == "call_1_2_0");
    CHECK(one.tool_calls[0].arguments["name"] == "y");
    CHECK(one.tool_calls[1].arguments == json::object());
    CHECK(one.stopped == stop_reason::tool_calls);
    CHECK(one.usage.input == 3);
    CHECK(one.usage.output == 4);
    CHECK(parsed({{"text", "done"}}).value().stopped == stop_reason::end);
    CHECK(parsed({{"text", "no"}, {"stop_reason", "refusal"}}).value().stopped == stop_reason::refusal);
    CHECK(parsed(json::object()).value().text.empty()); // an empty turn, which the loop knows
}

TEST_CASE("a wrong message of an external agent is refused with its place") {
    CHECK(holds(refused(std::string("<html>")), "<html>"));
    CHECK(holds(refused(std::string("[1]")), "expected an object"));
    CHECK(holds(refused(std::string(R"({"type":"Message","request":"1-1","message":{}})")), "\"1-2\""));
    CHECK(holds(refused(std::string(R"({"type":"Other","request":"1-2","message":{}})")), "type"));
    CHECK(holds(refused(std::string(R"({"type":"Message","request":"1-2"})")), "message"));
    CHECK(holds(refused(std::string(R"({"type":"Message","request":"1-2","message":{},"extra":1})")), "extra"));
    CHECK(holds(refused({{"texts", "x"}}), "texts"));
    CHECK(holds(refused({{"text", 1}}), "message.text"));
    CHECK(holds(refused({{"tool_calls", "x"}}), "message.tool_calls"));
    CHECK(holds(refused({{"tool_calls", {1}}}), "message.tool_calls[0]"));
    CHECK(holds(refused({{"tool_calls", {{{"id", "a"}}}}}), "message.tool_calls[0].name"));
    CHECK(holds(refused({{"tool_calls", {{{"name", "a"}, {"arguments", "{}"}}}}}), "message.tool_calls[0].arguments"));
    CHECK(holds(refused({{"tool_calls", {{{"id", "a"}, {"name", "x"}}, {{"id", "a"}, {"name", "y"}}}}}), "[1].id"));
    CHECK(holds(refused({{"stop_reason", "bored"}}), "message.stop_reason"));
    CHECK(holds(refused({{"usage", {{"input", -1}}}}), "message.usage.input"));
}
