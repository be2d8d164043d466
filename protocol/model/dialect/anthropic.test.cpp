#include "protocol/model/dialect/dialect.hpp"
#include "tests/support/dialect.hpp"

using namespace chalk;
using namespace chalk::model;
using chalk::model::testing::asked;
using chalk::model::testing::stream_of;

namespace {

const auto speaks = make_anthropic_dialect();

const std::string start =
    R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":5,"cache_creation_input_tokens":2,)"
    R"("cache_read_input_tokens":3,"output_tokens":1}}})";
const std::string stop = R"({"type":"message_stop"})";

std::string start_block(int index, const std::string& block) {
    return fmt::format(R"({{"type":"content_block_start","index":{},"content_block":{}}})", index, block);
}
std::string add(int index, const std::string& delta) {
    return fmt::format(R"({{"type":"content_block_delta","index":{},"delta":{}}})", index, delta);
}
std::string stop_block(int index) {
    return fmt::format(R"({{"type":"content_block_stop","index":{}}})", index);
}
std::string ended(const std::string& reason, int output = 20) {
    return fmt::format(R"({{"type":"message_delta","delta":{{"stop_reason":"{}"}},"usage":{{"output_tokens":{}}}}})",
                       reason, output);
}

std::string thoughtful(const std::string& reason = "tool_use") {
    return stream_of({start,
                      R"({"type":"ping"})",
                      start_block(0, R"({"type":"thinking","thinking":"","signature":""})"),
                      add(0, R"({"type":"thinking_delta","thinking":"let me "})"),
                      add(0, R"({"type":"thinking_delta","thinking":"see"})"),
                      add(0, R"({"type":"signature_delta","signature":"c2ln"})"),
                      stop_block(0),
                      start_block(1, R"({"type":"redacted_thinking","data":"secret"})"),
                      stop_block(1),
                      start_block(2, R"({"type":"text","text":""})"),
                      R"({"type":"something_new","x":1})",
                      add(2, R"({"type":"text_delta","text":"Looking."})"),
                      stop_block(2),
                      start_block(3, R"({"type":"tool_use","id":"toolu_1","name":"bash","input":{}})"),
                      add(3, R"({"type":"input_json_delta","partial_json":""})"),
                      add(3, R"({"type":"input_json_delta","partial_json":"{\"command\": \"l"})"),
                      add(3, R"({"type":"input_json_delta","partial_json":"s\"}"})"),
                      stop_block(3),
                      start_block(4, R"({"type":"tool_use","id":"toolu_2","name":"date","input":{}})"),
                      stop_block(4),
                      ended(reason),
                      stop});
}

turn read(std::string_view stream) {
    return testing::read_turn(*speaks, stream);
}

} // namespace

TEST_CASE("messages: blocks become text, reasoning and calls, and usage is summed with what caches did", "[dialect]") {
    const auto got = read(thoughtful());
    CHECK(got.text == "Looking.");
    CHECK(got.reasoning == "let me see");
    CHECK(got.stopped == stop_reason::tool_calls);
    REQUIRE(got.tool_calls.size() == 2);
    CHECK(got.tool_calls[0].arguments == json{{"command", "ls"}});
    CHECK(got.tool_calls[1].id == "toolu_2");
    CHECK(got.tool_calls[1].arguments == json::object()); // no input at all
    CHECK(got.usage.input == 10);
    CHECK(got.usage.cached == 3);
    CHECK(got.usage.output == 20);
}

TEST_CASE("messages: thinking goes back with its signature, unchanged and in its place", "[dialect]") {
    const auto body = testing::body_after(*speaks, read(thoughtful()));
    CHECK(body["messages"] == json::parse(R"([{"role":"user","content":[{"type":"text","text":"go"}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"let me see","signature":"c2ln"},
          {"type":"redacted_thinking","data":"secret"},{"type":"text","text":"Looking."},
          {"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"ls"}},
          {"type":"tool_use","id":"toolu_2","name":"date","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"},
          {"type":"tool_result","tool_use_id":"toolu_2","content":"done"}]}])"));
}

TEST_CASE("messages: a turn of reasoning alone is not sent back, since the API refuses it", "[dialect]") {
    const auto got = read(stream_of({start, start_block(0, R"({"type":"thinking","thinking":"hm","signature":"s"})"),
                                     stop_block(0), ended("end_turn"), stop}));
    CHECK(got.reasoning == "hm");
    CHECK(testing::body_after(*speaks, got)["messages"].size() == 1);
}

TEST_CASE("messages: reasons to stop", "[dialect]") {
    const auto stopped = [](const std::string& reason) {
        return read(stream_of(
                        {start, start_block(0, R"({"type":"text","text":"x"})"), stop_block(0), ended(reason), stop}))
            .stopped;
    };
    CHECK(stopped("end_turn") == stop_reason::end);
    CHECK(stopped("stop_sequence") == stop_reason::end);
    CHECK(stopped("max_tokens") == stop_reason::length);
    CHECK(stopped("pause_turn") == stop_reason::paused);
    CHECK(stopped("refusal") == stop_reason::refusal);
    CHECK(stopped("model_context_window_exceeded") == stop_reason::context);
    CHECK(stopped("of_its_own") == stop_reason::end);
}

TEST_CASE("messages: a stream that ends anywhere before message_stop is aborted", "[dialect]") {
    const auto whole = thoughtful();
    const auto last = whole.rfind("data:");
    for (std::size_t end = 0; end < last; end += 13) {
        const auto failed = testing::read_failure(*speaks, whole.substr(0, end));
        CHECK(failed.kind == turn_failure::what::aborted);
        CHECK(failed.why.kind == error_class::model);
    }
    const auto failed = testing::read_failure(*speaks, whole.substr(0, last));
    CHECK(failed.half.text == "Looking.");
    CHECK(failed.half.usage.input == 10);
    CHECK(failed.half.usage.output == 20);
    CHECK_THAT(failed.why.message, Catch::Matchers::Contains("message_stop"));
    CHECK(testing::read_failure(*speaks, stream_of({start, stop})).kind == turn_failure::what::aborted);
}

TEST_CASE("messages: an error event aborts, whatever came before", "[dialect]") {
    auto failed = testing::read_failure(
        *speaks, stream_of({start, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},)"
                                   R"("request_id":"req_7"})"}));
    CHECK(failed.kind == turn_failure::what::aborted);
    CHECK_THAT(failed.why.message, Catch::Matchers::Contains("overloaded_error: Overloaded (request req_7)"));
    failed = testing::read_failure(*speaks, stream_of({R"({"type":"error","error":{"type":"invalid_request_error",)"
                                                       R"("message":"prompt is too long: 200001 tokens > 200000"}})"}));
    CHECK(failed.kind == turn_failure::what::context_overflow);
}

TEST_CASE("messages: input that is no JSON is a defect, and goes back as an object", "[dialect]") {
    const auto got = read(stream_of({start, start_block(0, R"({"type":"tool_use","id":"","name":"bash","input":{}})"),
                                     add(0, R"({"type":"input_json_delta","partial_json":"{\"command\": \"l"})"),
                                     ended("max_tokens"), stop}));
    REQUIRE(got.call_defects.size() == 1);
    CHECK(got.tool_calls[0].id == "call_1_2_0");
    CHECK(testing::body_after(*speaks, got)["messages"][1]["content"][0] ==
          json::parse(R"({"type":"tool_use","id":"call_1_2_0","name":"bash",)"
                      R"("input":{"invalid_arguments":"{\"command\": \"l"}})"));
}

TEST_CASE("messages: a request alternates roles, and leaves out what the API refuses", "[dialect]") {
    asked a;
    a.say({role::system, "one", {}, {}, false});
    a.say({role::system, "two", {}, {}, false});
    a.say({role::user, "go", {}, {}, false});
    a.say({role::assistant, " \n", {}, {}, false});
    a.say({role::user, "on", {}, {}, false});
    a.say({role::assistant, "", {{"a", "bash", json::object()}}, {}, false});
    a.say({role::tool, "", {}, "a", true});
    a.say({role::user, "more", {}, {}, false});
    a.tools->push_back({"bash", "runs", {{"type", "object"}}});
    const auto sent = speaks->make_request(
        a.request(), "claude-x", {{"reasoning_effort", "low"}, {"anthropic_beta", "b1,b2"}, {"max_tokens", 99}});
    CHECK(sent.target == "/v1/messages");
    CHECK(sent.headers == std::vector<std::pair<std::string, std::string>>{{"anthropic-version", "2023-06-01"},
                                                                           {"anthropic-beta", "b1,b2"}});
    CHECK(sent.body == json::parse(R"({"model":"claude-x","stream":true,"max_tokens":99,"system":"one\n\ntwo",
        "output_config":{"effort":"low"},
        "messages":[{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"on"}]},
          {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"bash","input":{}}]},
          {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true},
            {"type":"text","text":"more"}]}],
        "tools":[{"name":"bash","description":"runs","input_schema":{"type":"object"}}]})"));
    CHECK(speaks->make_request(a.request(), "claude-x", json::object()).body["max_tokens"] == 32'000);
}
