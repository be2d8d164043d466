#include "protocol/model/dialect/dialect.hpp"
#include "tests/support/dialect.hpp"

using namespace chalk;
using namespace chalk::model;
using chalk::model::testing::asked;
using chalk::model::testing::stream_of;

namespace {

const auto speaks = make_openai_responses_dialect();

std::string item(const std::string& what, int index, const std::string& inside) {
    return fmt::format(R"({{"type":"response.output_item.{}","output_index":{},"item":{}}})", what, index, inside);
}
std::string delta(const std::string& what, int index, const std::string& text) {
    return fmt::format(R"({{"type":"response.{}.delta","output_index":{},"delta":{}}})", what, index,
                       json(text).dump());
}
std::string ended(const std::string& how, const std::string& rest = "") {
    return fmt::format(
        R"({{"type":"response.{}","response":{{"error":null,"usage":{{"input_tokens":8,"output_tokens":6,)"
        R"("input_tokens_details":{{"cached_tokens":1}},"output_tokens_details":{{"reasoning_tokens":2}}}}{}}}}})",
        how, rest);
}

const std::string reasoning =
    R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"})";
const std::string call =
    R"({"type":"function_call","id":"fc_1","status":"completed","call_id":"c1","name":"bash","arguments":"{\"n\":1}"})";

std::string thoughtful() {
    return stream_of({R"({"type":"response.created","response":{"status":"in_progress"}})",
                      item("added", 0, R"({"type":"reasoning","id":"rs_1","summary":[]})"),
                      delta("reasoning_summary_text", 0, "hm"), item("done", 0, reasoning),
                      item("added", 1, R"({"type":"message","id":"m_1","status":"in_progress","content":[]})"),
                      R"({"type":"response.content_part.added","output_index":1,"part":{}})",
                      delta("output_text", 1, "Look"), delta("output_text", 1, "ing."),
                      item("done", 1,
                           R"({"type":"message","id":"m_1","role":"assistant","status":"completed",)"
                           R"("content":[{"type":"output_text","text":"Looking."}]})"),
                      item("added", 2, R"({"type":"function_call","call_id":"c1","name":"bash","arguments":""})"),
                      delta("function_call_arguments", 2, "{\"n\""), delta("function_call_arguments", 2, ":1}"),
                      item("done", 2, call), ended("completed")});
}

turn read(std::string_view stream) {
    return testing::read_turn(*speaks, stream);
}

} // namespace

TEST_CASE("responses: items become text, reasoning and calls", "[dialect]") {
    const auto got = read(thoughtful());
    CHECK(got.text == "Looking.");
    CHECK(got.reasoning == "hm");
    CHECK(got.stopped == stop_reason::tool_calls);
    REQUIRE(got.tool_calls.size() == 1);
    CHECK(got.tool_calls[0].id == "c1");
    CHECK(got.tool_calls[0].arguments == json{{"n", 1}});
    CHECK(got.usage.input == 8);
    CHECK(got.usage.cached == 1);
    CHECK(got.usage.output == 6);
    CHECK(got.usage.reasoning == 2);
}

TEST_CASE("responses: a turn is complete by its deltas alone, or by the last event's output alone", "[dialect]") {
    auto got = read(stream_of(
        {item("added", 0, R"({"type":"message","content":[]})"), delta("output_text", 0, "hi"), ended("completed")}));
    CHECK(got.text == "hi");
    got = read(stream_of({ended("completed", R"(,"output":[)" + reasoning + "," + call + "]")}));
    CHECK(got.reasoning == "hm");
    CHECK(got.tool_calls.size() == 1);
}

TEST_CASE("responses: reasoning goes back encrypted, before what it led to; ids of what is not kept do not",
          "[dialect]") {
    const auto body = testing::body_after(*speaks, read(thoughtful()));
    CHECK(body["store"] == false);
    CHECK(body["include"] == json::array({"reasoning.encrypted_content"}));
    auto expected = json::parse(R"([{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},
        {"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"n\":1}"},
        {"type":"function_call_output","call_id":"c1","output":"done"}])");
    expected.insert(expected.begin() + 1, json::parse(reasoning));
    CHECK(body["input"] == expected);
}

TEST_CASE("responses: reasoning that led to nothing, or is not encrypted, does not go back", "[dialect]") {
    CHECK(testing::body_after(*speaks, read(stream_of({item("done", 0, reasoning), ended("incomplete")})))["input"]
              .size() == 1);
    const auto plain = R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null})";
    CHECK(testing::body_after(*speaks, read(stream_of({item("done", 0, plain), item("done", 1, call),
                                                       ended("completed")})))["input"][1]["type"] == "function_call");
}

TEST_CASE("responses: ways to end", "[dialect]") {
    const auto said = item("done", 0, R"({"type":"message","content":[{"type":"output_text","text":"x"}]})");
    CHECK(read(stream_of({said, ended("completed")})).stopped == stop_reason::end);
    CHECK(read(stream_of({said, ended("incomplete", R"(,"incomplete_details":{"reason":"max_output_tokens"})")}))
              .stopped == stop_reason::length);
    CHECK(
        read(stream_of({said, ended("incomplete", R"(,"incomplete_details":{"reason":"content_filter"})")})).stopped ==
        stop_reason::refusal);
    const auto refused = read(stream_of(
        {item("done", 0, R"({"type":"message","content":[{"type":"refusal","refusal":"no"}]})"), ended("completed")}));
    CHECK(refused.stopped == stop_reason::refusal);
    CHECK(refused.text == "no");

    const auto aborted = testing::read_failure(*speaks, stream_of({said}));
    CHECK(aborted.kind == turn_failure::what::aborted);
    CHECK(aborted.half.text == "x");
    const auto failed = [](const std::string& event) { return testing::read_failure(*speaks, stream_of({event})); };
    CHECK(failed(R"({"type":"response.failed","response":{"error":{"code":"server_error","message":"boom"}}})").kind ==
          turn_failure::what::aborted);
    CHECK(failed(R"({"type":"response.failed","response":{"error":null}})").kind == turn_failure::what::aborted);
    CHECK(failed(R"({"type":"error","code":"context_length_exceeded","message":"too long","param":null})").kind ==
          turn_failure::what::context_overflow);
}

TEST_CASE("responses: models that do not reason are not asked for reasoning, and arguments have the API's names",
          "[dialect]") {
    asked a;
    a.say({role::user, "go", {}, {}, false});
    a.say({role::assistant, "hm", {{"a", "bash", json("[")}}, {}, false});
    const auto body =
        speaks->make_request(a.request(), "gpt-4.1", {{"max_tokens", 5}, {"reasoning_effort", "low"}}).body;
    CHECK_FALSE(body.contains("include"));
    CHECK(body["max_output_tokens"] == 5);
    CHECK(body["reasoning"]["effort"] == "low");
    CHECK(body["input"][2]["arguments"] == R"({"invalid_arguments":"["})");
}
