#include "protocol/model/dialect/dialect.hpp"
#include "tests/support/dialect.hpp"

using namespace chalk;
using namespace chalk::model;
using chalk::model::testing::asked;
using chalk::model::testing::stream_of;

namespace {

const auto speaks = make_gemini_dialect();

std::string chunk(const std::string& parts, const std::string& reason = "", int output = 3) {
    return fmt::format(
        R"({{"candidates":[{{"content":{{"role":"model","parts":[{}]}}{},"index":0}}],)"
        R"("usageMetadata":{{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":{},)"
        R"("thoughtsTokenCount":2,"totalTokenCount":99}},"modelVersion":"m"}})",
        parts, reason.empty() ? "" : R"(,"finishReason":")" + reason + "\"", output);
}

std::string thoughtful(const std::string& reason = "STOP") {
    return stream_of({chunk(R"({"text":"let me ","thought":true})", "", 0),
                      chunk(R"({"text":"see","thought":true})", "", 0), chunk(R"({"text":"Look"})"),
                      chunk(R"({"text":"ing."},{"text":"","thoughtSignature":"c2ln"})"),
                      chunk(R"({"functionCall":{"name":"bash","args":{"command":"ls"}},"thoughtSignature":"Y2FsbA=="},)"
                            R"({"functionCall":{"id":"fc_9","name":"date"}})"),
                      chunk("", reason, 7)});
}

turn read(std::string_view stream) {
    return testing::read_turn(*speaks, stream);
}

turn ended(const std::string& reason) {
    return read(stream_of({chunk(R"({"text":"x"})", reason)}));
}

} // namespace

TEST_CASE("gemini: parts become text, reasoning and calls, and thoughts are output", "[dialect]") {
    const auto got = read(thoughtful());
    CHECK(got.text == "Looking.");
    CHECK(got.reasoning == "let me see");
    CHECK(got.stopped == stop_reason::tool_calls);
    REQUIRE(got.tool_calls.size() == 2);
    CHECK(got.tool_calls[0].id == "call_1_2_0");
    CHECK(got.tool_calls[0].arguments == json{{"command", "ls"}});
    CHECK(got.tool_calls[1].id == "fc_9");
    CHECK(got.tool_calls[1].arguments == json::object()); // no args at all
    CHECK(got.usage.input == 9);
    CHECK(got.usage.cached == 4);
    CHECK(got.usage.output == 9);
    CHECK(got.usage.reasoning == 2);
}

TEST_CASE("gemini: parts go back with their signatures in their place, and ids where they came with one", "[dialect]") {
    const auto body = testing::body_after(*speaks, read(thoughtful()));
    CHECK(body["contents"] == json::parse(R"([{"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"text":"let me see","thought":true},{"text":"Looking."},
          {"text":"","thoughtSignature":"c2ln"},
          {"functionCall":{"name":"bash","args":{"command":"ls"}},"thoughtSignature":"Y2FsbA=="},
          {"functionCall":{"id":"fc_9","name":"date","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"name":"bash","response":{"output":"done"}}},
          {"functionResponse":{"id":"fc_9","name":"date","response":{"output":"done"}}}]}])"));
}

TEST_CASE("gemini: a turn of thoughts alone, and empty text, do not go back", "[dialect]") {
    const auto thoughts = read(stream_of({chunk(R"({"text":"hm","thought":true})", "STOP")}));
    CHECK(thoughts.reasoning == "hm");
    CHECK(testing::body_after(*speaks, thoughts)["contents"].size() == 1);
    CHECK(testing::body_after(*speaks, read(stream_of({chunk(R"({"text":""})", "STOP")})))["contents"].size() == 1);
    const auto nulls = read(stream_of({chunk(R"({"text":"hi","functionCall":null})", "STOP")}));
    CHECK(nulls.text == "hi");
    CHECK(nulls.tool_calls.empty());
}

TEST_CASE("gemini: reasons to stop", "[dialect]") {
    CHECK(ended("STOP").stopped == stop_reason::end);
    CHECK(ended("MAX_TOKENS").stopped == stop_reason::length);
    CHECK(ended("SAFETY").stopped == stop_reason::refusal);
    CHECK(ended("OF_ITS_OWN").stopped == stop_reason::end);
    const auto blocked = read(stream_of({R"({"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},)"
                                         R"("usageMetadata":{"promptTokenCount":5}})"}));
    CHECK(blocked.stopped == stop_reason::refusal);
    CHECK(blocked.usage.input == 5);
}

TEST_CASE("gemini: what follows the last chunk of content still counts", "[dialect]") {
    const auto got = read(stream_of({R"({"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]})",
                                     R"({"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":6}})"}));
    CHECK(got.text == "x");
    CHECK(got.usage.output == 6);
}

TEST_CASE("gemini: a stream without a reason to stop is aborted, and so is an answer that the provider could not read",
          "[dialect]") {
    const auto whole = thoughtful();
    const auto last = whole.rfind("data:");
    for (std::size_t end = 0; end <= last; end += 13) {
        CHECK(testing::read_failure(*speaks, whole.substr(0, end)).kind == turn_failure::what::aborted);
    }
    const auto half = testing::read_failure(*speaks, whole.substr(0, last));
    CHECK(half.half.text == "Looking.");
    CHECK(half.half.usage.output == 5);
    CHECK_THAT(half.why.message, Catch::Matchers::Contains("finishReason"));
    const auto garbled = testing::read_failure(*speaks, stream_of({chunk("", "MALFORMED_FUNCTION_CALL")}));
    CHECK(garbled.kind == turn_failure::what::aborted);
    CHECK(garbled.half.usage.input == 9);
    CHECK_THAT(garbled.why.message, Catch::Matchers::Contains("MALFORMED_FUNCTION_CALL"));
}

TEST_CASE("gemini: an error in the stream aborts it, alone or in a list", "[dialect]") {
    const std::string error = R"({"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}})";
    for (const auto& event : {error, "[" + error + "]"}) {
        const auto failed = testing::read_failure(*speaks, stream_of({chunk(R"({"text":"x"})"), event}));
        CHECK(failed.kind == turn_failure::what::aborted);
        CHECK(failed.half.text == "x");
        CHECK_THAT(failed.why.message, Catch::Matchers::Contains("UNAVAILABLE: Overloaded"));
    }
}

TEST_CASE("gemini: arguments that are no object are a defect, and go back as one", "[dialect]") {
    const auto got = read(stream_of({chunk(R"({"functionCall":{"name":"ba sh","args":[1]}})", "STOP")}));
    REQUIRE(got.call_defects.size() == 1);
    const auto contents = testing::body_after(*speaks, got)["contents"];
    CHECK(contents[1]["parts"][0]["functionCall"] ==
          json::parse(R"({"name":"ba_sh","args":{"invalid_arguments":"[1]"}})"));
    CHECK(contents[2]["parts"][0]["functionResponse"]["name"] == "ba_sh");
}

TEST_CASE("gemini: what is larger than a turn may be fails, and calls beyond their number are left out", "[dialect]") {
    const auto text = [](char c) { return chunk(fmt::format(R"({{"text":"{}"}})", std::string(3U << 20U, c))); };
    CHECK(testing::read_failure(*speaks, stream_of({text('a'), text('b')}), {}, 1U << 20U).kind ==
          turn_failure::what::ended);
    const auto sign = chunk(fmt::format(R"({{"text":"","thoughtSignature":"{}"}})", std::string(9U << 20U, 'a')));
    CHECK(testing::read_failure(*speaks, stream_of({sign, sign}), {}, 1U << 20U).kind == turn_failure::what::ended);
    std::string calls = R"({"functionCall":{"name":"a"}})";
    for (std::size_t i = 0; i < most_calls; ++i) {
        calls += R"(,{"functionCall":{"name":"a"}})";
    }
    const auto got = read(stream_of({chunk(calls, "STOP")}));
    CHECK(got.tool_calls.size() == most_calls);
    CHECK(got.provider_items.size() == most_calls);
}

TEST_CASE("gemini: a request alternates roles and has arguments at the API's places", "[dialect]") {
    asked a;
    a.say({role::system, "one", {}, {}, false});
    a.say({role::system, "two", {}, {}, false});
    a.say({role::user, "go", {}, {}, false});
    a.say({role::assistant, "hm", {{"a", "bash", json::object()}}, {}, false});
    a.say({role::tool, "no", {}, "a", true});
    a.say({role::user, "more", {}, {}, false});
    a.tools->push_back({"bash", "runs", {{"type", "object"}}});
    const auto sent = speaks->make_request(a.request(), "gemini-3-pro",
                                           {{"reasoning_effort", "low"},
                                            {"max_tokens", 99},
                                            {"generationConfig", {{"temperature", 0}}},
                                            {"safetySettings", json::array()}});
    CHECK(sent.target == "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
    CHECK(sent.headers.empty());
    CHECK(sent.body == json::parse(R"({"systemInstruction":{"parts":[{"text":"one\n\ntwo"}]},"safetySettings":[],
        "generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"},"maxOutputTokens":99,
          "temperature":0},
        "contents":[{"role":"user","parts":[{"text":"go"}]},
          {"role":"model","parts":[{"text":"hm"},{"functionCall":{"name":"bash","args":{}}}]},
          {"role":"user","parts":[{"functionResponse":{"name":"bash","response":{"error":"no"}}},{"text":"more"}]}],
        "tools":[{"functionDeclarations":[{"name":"bash","description":"runs",
          "parametersJsonSchema":{"type":"object"}}]}]})"));
}

TEST_CASE("gemini: thinking is asked for as the model takes it", "[dialect]") {
    asked a;
    const auto thinking = [&](const char* name, const json& args) {
        const auto body = speaks->make_request(a.request(), name, args).body;
        return body.value("/generationConfig/thinkingConfig"_json_pointer, json());
    };
    CHECK(thinking("gemini-2.5-pro", json::object()) == json{{"includeThoughts", true}});
    CHECK(thinking("gemini-2.5-flash", {{"reasoning_effort", "high"}}) ==
          json{{"includeThoughts", true}, {"thinkingBudget", 24'576}});
    CHECK(thinking("gemini-2.5-flash", {{"reasoning_effort", "none"}}) == json{{"thinkingBudget", 0}});
    CHECK(thinking("gemini-2.0-flash", json::object()).is_null());
    CHECK(thinking("gemini-2.5-pro", {{"generationConfig", {{"thinkingConfig", {{"thinkingBudget", 9}}}}}}) ==
          json{{"thinkingBudget", 9}});
}
