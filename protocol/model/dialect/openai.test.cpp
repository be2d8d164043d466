#include "protocol/model/dialect/dialect.hpp"
#include "tests/support/dialect.hpp"

using namespace chalk;
using namespace chalk::model;
using chalk::model::testing::asked;
using chalk::model::testing::stream_of;

namespace {

const auto speaks = make_openai_dialect(openai_flavour::openai);

turn read(std::string_view stream) {
    return testing::read_turn(*speaks, stream);
}

turn_failure fail(std::string_view stream, std::string_view broke = {}) {
    return testing::read_failure(*speaks, stream, broke);
}

std::string delta(std::string_view inside, std::string_view finish = "null") {
    return fmt::format(R"({{"choices":[{{"index":0,"delta":{},"finish_reason":{}}}]}})", inside, finish);
}

} // namespace

TEST_CASE("chat completions: text, calls merged by index, usage in a chunk without choices", "[dialect]") {
    const auto stream = stream_of({
        delta(R"({"role":"assistant","content":""})"),
        delta(R"({"content":"Let me "})"),
        delta(R"({"content":"look."})"),
        delta(R"({"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]})"),
        delta(R"({"tool_calls":[{"index":1,"id":"b","function":{"name":"read","arguments":"{}"}}]})"),
        delta(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]})"),
        delta(R"({"tool_calls":[{"index":0,"function":{"arguments":" \"ls\"}"}}]})"),
        delta("{}", "\"tool_calls\""),
        R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,)"
        R"("prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}})",
    });
    const std::string end = GENERATE("", "data: [DONE]\n\n", "data:[DONE]");
    const auto got = read(stream + end);
    CHECK(got.text == "Let me look.");
    CHECK(got.stopped == stop_reason::tool_calls);
    REQUIRE(got.tool_calls.size() == 2);
    CHECK(got.tool_calls[0].id == "a");
    CHECK(got.tool_calls[0].name == "bash");
    CHECK(got.tool_calls[0].arguments == json{{"command", "ls"}});
    CHECK(got.tool_calls[1].name == "read");
    CHECK(got.call_defects.empty());
    CHECK(got.usage.input == 10);
    CHECK(got.usage.cached == 4);
    CHECK(got.usage.output == 7);
    CHECK(got.usage.reasoning == 2);
}

TEST_CASE("chat completions: calls without an index, or all with the same, are told apart by id", "[dialect]") {
    const std::string index = GENERATE("", R"("index":0,)");
    const auto call = [&](const std::string& rest) { return delta(R"({"tool_calls":[{)" + index + rest + "}]}"); };
    const auto got = read(stream_of(
        {call(R"("id":"a","function":{"name":"x","arguments":"{\"n\""})"), call(R"("function":{"arguments":":1}"})"),
         call(R"("id":"b","function":{"name":"y","arguments":"{\"n\":2}"})"), delta("{}", "\"stop\"")}));
    REQUIRE(got.tool_calls.size() == 2);
    CHECK(got.tool_calls[0].arguments == json{{"n", 1}});
    CHECK(got.tool_calls[1].arguments == json{{"n", 2}});
    CHECK(got.stopped == stop_reason::tool_calls);
}

TEST_CASE("chat completions: a call without an id gets one, and so does a second one of the same", "[dialect]") {
    const auto got = read(stream_of(
        {delta(R"({"tool_calls":[{"index":0,"function":{"name":"x","arguments":""}},)"
               R"({"index":1,"id":"same","function":{"name":"y"}},{"index":2,"id":"same","function":{"name":"z"}}]})",
               "\"tool_calls\"")}));
    REQUIRE(got.tool_calls.size() == 3);
    CHECK(got.tool_calls[0].id == "call_1_2_0");
    CHECK(got.tool_calls[0].arguments == json::object());
    CHECK(got.tool_calls[1].id == "same");
    CHECK(got.tool_calls[2].id == "call_1_2_2");
}

TEST_CASE("chat completions: arguments that cannot be used are kept as text, and said to be so", "[dialect]") {
    const auto with = [](const std::string& arguments) {
        return read(stream_of({delta(R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":)" +
                                         json(arguments).dump() + "}}]}",
                                     "\"tool_calls\"")}));
    };
    const std::string bad = GENERATE(R"({"a": )", "[1]", "\"text\"", "null", "{'a': 1}");
    const auto got = with(bad);
    REQUIRE(got.call_defects.size() == 1);
    CHECK_FALSE(got.call_defects[0].empty());
    CHECK(got.tool_calls[0].arguments == json(bad));

    const auto deep = with(std::string(100, '[') + std::string(100, ']'));
    CHECK_THAT(deep.call_defects.at(0), Catch::Matchers::Contains("deep"));

    const auto huge = with(std::string(10U << 20U, 'x'));
    CHECK_THAT(huge.call_defects.at(0), Catch::Matchers::Contains("10485760 bytes"));
    CHECK(huge.tool_calls[0].arguments.get<std::string>().size() < 5'000);
}

TEST_CASE("chat completions: bad UTF-8 and half a surrogate pair become U+FFFD", "[dialect]") {
    const auto got = read(stream_of({delta("{\"content\":\"a\xff z \\ud83d!\\\\ud83d \\ud83d\\ude00\"}", "\"stop\"")}));
    CHECK(got.text == "a\xef\xbf\xbd z \xef\xbf\xbd!\\ud83d \xf0\x9f\x98\x80");
}

TEST_CASE("chat completions: reasoning has three names, and goes back under the one it came with", "[dialect]") {
    const std::string name = GENERATE("reasoning_content", "reasoning");
    const std::string call = R"("tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}])";
    auto got = read(stream_of({delta("{\"" + name + "\":\"hm, \"}"), delta("{\"" + name + "\":\"yes\"}"),
                               delta(R"({"role":"assistant",)" + call + "}", "\"tool_calls\"")}));
    CHECK(got.reasoning == "hm, yes");
    const auto body = testing::body_after(*speaks, got);
    CHECK(body["messages"][1][name] == "hm, yes");

    got = read(stream_of({delta("{\"" + name + "\":\"hm\"}"), delta(R"({"content":"yes"})", "\"stop\"")}));
    CHECK_FALSE(testing::body_after(*speaks, got)["messages"][1].contains(name));
}

TEST_CASE("chat completions: reasoning details are joined by index and go back whole", "[dialect]") {
    const auto detail = [](const std::string& one) {
        return delta(R"({"content":"","reasoning_details":[)" + one + "]}");
    };
    const auto got = read(stream_of({detail(R"({"type":"reasoning.text","index":0,"text":"a"})"),
                                     detail(R"({"type":"reasoning.text","index":0,"text":"b","signature":"s"})"),
                                     detail(R"({"type":"reasoning.encrypted","index":1,"data":"x"})"),
                                     delta(R"({"content":"yes"})", "\"stop\"")}));
    CHECK(got.reasoning == "ab");
    const auto sent = testing::body_after(*speaks, got)["messages"][1]["reasoning_details"];
    CHECK(sent == json::parse(R"([{"type":"reasoning.text","index":0,"text":"ab","signature":"s"},
                                  {"type":"reasoning.encrypted","index":1,"data":"x"}])"));
}

TEST_CASE("chat completions: reasons to stop", "[dialect]") {
    const auto stopped = [](std::string_view reason) {
        return read(stream_of({delta(R"({"content":"x"})", reason)})).stopped;
    };
    CHECK(stopped("\"stop\"") == stop_reason::end);
    CHECK(stopped("\"length\"") == stop_reason::length);
    CHECK(stopped("\"content_filter\"") == stop_reason::refusal);
    CHECK(stopped("\"of its own\"") == stop_reason::end);
}

TEST_CASE("chat completions: a stream without a finish_reason is aborted, with what had come", "[dialect]") {
    const auto half = stream_of({delta(R"({"content":"half"})")});
    for (const auto& stream : {half, half + "data: [DONE]\n\n"}) {
        const auto failed = fail(stream);
        CHECK(failed.kind == turn_failure::what::aborted);
        CHECK(failed.why.kind == error_class::model);
        CHECK(failed.half.text == "half");
        CHECK_THAT(failed.why.message, Catch::Matchers::Contains("finish_reason"));
    }
    CHECK_THAT(fail(half, "connection reset").why.message, Catch::Matchers::Contains("connection reset"));
    CHECK(fail("").kind == turn_failure::what::aborted);
    CHECK(fail(stream_of({"not json"})).kind == turn_failure::what::aborted);
    CHECK(fail(stream_of({delta("{}", "\"error\"")})).kind == turn_failure::what::aborted);
    // Complete, whatever became of the connection then.
    CHECK(testing::read_turn(*speaks, stream_of({delta(R"({"content":"x"})", "\"stop\"")}), "reset").text == "x");
}

TEST_CASE("chat completions: an error in the stream aborts it, and one about the context is told apart", "[dialect]") {
    const auto half = delta(R"({"content":"half"})");
    auto failed = fail(stream_of({half, R"({"error":{"message":"boom","type":"server_error","code":null}})"}));
    CHECK(failed.kind == turn_failure::what::aborted);
    CHECK(failed.half.text == "half");
    CHECK_THAT(failed.why.message, Catch::Matchers::Contains("server_error: boom"));
    failed = fail(stream_of({R"({"error":{"message":"too long","code":"context_length_exceeded"}})"}));
    CHECK(failed.kind == turn_failure::what::context_overflow);
    CHECK(fail(stream_of({R"({"error":"just words"})"})).kind == turn_failure::what::aborted);
    CHECK(fail(stream_of({R"({"object":"error","message":"no","code":500})"})).kind == turn_failure::what::aborted);
    CHECK(read(stream_of({R"({"error":null,"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]})"})).text ==
          "x");
}

TEST_CASE("chat completions: what has another shape than expected is passed over", "[dialect]") {
    const auto got = read(stream_of({"null", "[]", "7", R"({"choices":{}})", R"({"choices":[null]})",
                                     R"({"choices":[{"delta":{"content":7,"tool_calls":[null,{"index":-1}]}}]})",
                                     R"({"usage":{"prompt_tokens":-1,"completion_tokens":"x"}})",
                                     delta(R"({"content":"x"})", "\"stop\"")}));
    CHECK(got.text == "x");
    CHECK(got.usage.input == 0);
}

TEST_CASE("chat completions: more than a turn may hold fails it for good", "[dialect]") {
    std::string stream;
    for (int i = 0; i < 5; ++i) {
        stream += stream_of({delta("{\"content\":\"" + std::string(1U << 20U, 'x') + "\"}")});
    }
    const auto failed = testing::read_failure(*speaks, stream, {}, 1U << 16U);
    CHECK(failed.kind == turn_failure::what::ended);
    CHECK(failed.half.text.size() == most_text);
}

TEST_CASE("chat completions: a request holds the conversation, the tools and the user's arguments", "[dialect]") {
    asked a;
    a.say({role::system, "be good", {}, {}, false});
    a.say({role::user, "go", {}, {}, false});
    a.say({role::assistant, "", {{"a", "no such tool!", json("{bad")}}, {}, false});
    a.say({role::tool, "error", {}, "a", true});
    a.say({role::assistant, "", {}, {}, false});
    a.tools->push_back({"bash", "runs", {{"type", "object"}}});
    const auto sent = speaks->make_request(a.request(), "gpt-x", {{"temperature", 0.5}, {"max_tokens", 9}});
    CHECK(sent.target == "/v1/chat/completions");
    CHECK(sent.body == json::parse(R"({"model":"gpt-x","stream":true,"stream_options":{"include_usage":true},
        "temperature":0.5,"max_completion_tokens":9,
        "messages":[{"role":"system","content":"be good"},{"role":"user","content":"go"},
          {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":
            {"name":"no_such_tool_","arguments":"{\"invalid_arguments\":\"{bad\"}"}}]},
          {"role":"tool","tool_call_id":"a","content":"error"}],
        "tools":[{"type":"function","function":{"name":"bash","description":"runs","parameters":{"type":"object"}}}]})"));
    const auto other = make_openai_dialect(openai_flavour::compatible);
    CHECK(other->make_request(a.request(), "m", {{"max_tokens", 9}}).body["max_tokens"] == 9);
}
