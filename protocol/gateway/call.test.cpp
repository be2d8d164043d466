#include "protocol/gateway/call.hpp"

#include "protocol/core/json_text.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::gateway;

TEST_CASE("the gateway knows the paths of its APIs, and takes POST alone") {
    CHECK(*find_api("POST", "/v1/chat/completions") == api::chat_completions);
    CHECK(*find_api("POST", "/v1/responses") == api::responses);
    CHECK(*find_api("POST", "/v1/messages?beta=true") == api::messages);
    CHECK(*find_api("POST", "/v1/messages/count_tokens") == api::count_tokens);
    CHECK(*find_api("POST", "/v1beta/models/gemini-x:generateContent") == api::generate_content);
    CHECK(*find_api("POST", "/v1beta/models/gemini-x:streamGenerateContent?alt=sse") == api::generate_content);
    CHECK(*find_api("POST", "/v1/models/org/m:7b:countTokens") == api::count_gemini_tokens);
    CHECK(find_api("GET", "/v1/responses").error().status == 405);
    CHECK(find_api("GET", "/v1beta/models/x:generateContent").error().status == 405);
    for (const char* target : {"/", "/v1beta/models/x", "/v1beta/models/:generateContent",
                               "/v1beta/models/x:embedContent", "/v1beta/x:generateContent", "/v1beta/models",
                               "/v1/files", "/v1/messages/", "/v1/../v1/messages", "http://x/v1/messages", ""}) {
        CAPTURE(target);
        CHECK(find_api("POST", target).error().status == 404);
    }
}

TEST_CASE("a call has the body's model and the header's, and the body as it was") {
    const std::string body = "{ \"model\" : \"m\", \"x\": 1.0 }";
    const auto read = read_call(api::responses, "/v1/responses", "openai/m", body);
    REQUIRE(read);
    CHECK(read->model == "m");
    CHECK(read->full_model == "openai/m");
    CHECK(read->body == body);
}

TEST_CASE("a body without a model, or that is no JSON object, is refused") {
    for (const char* body : {"", "{", "[]", "3", "{}", R"({"model": 3})", "{\"model\":\"\xff\"}"}) {
        CAPTURE(body);
        const auto read = read_call(api::messages, "/v1/messages", "", body);
        REQUIRE_FALSE(read);
        CHECK(read.error().status == 400);
    }
}

TEST_CASE("Gemini's path names the model, and a body may not name another") {
    const auto target = "/v1beta/models/gemini-x:streamGenerateContent?key=theirs&alt=sse&fields=candidates";
    const auto read = [&](const char* body) {
        return read_call(api::generate_content, target, "gemini/gemini-x", body);
    };
    const auto plain = read(R"({"contents":[]})");
    REQUIRE(plain);
    CHECK(plain->model == "gemini-x");
    CHECK(plain->target == "/v1beta/models/gemini-x:streamGenerateContent?alt=sse");
    CHECK(read(R"({"model":"models/gemini-x"})"));
    for (const char* body :
         {R"({"model":"gemini-y"})", R"({"model":5})", R"({"generateContentRequest":{"model":"models/y"}})",
          R"({"generate_content_request":{"model":"y"}})"}) {
        CAPTURE(body);
        REQUIRE_FALSE(read(body));
        CHECK(read(body).error().code == "two_models");
    }
    CHECK(read("[]").error().status == 400);
    const auto whole = read_call(api::generate_content, "/v1beta/models/m:generateContent?alt=json", "", "{}");
    CHECK(whole->target == "/v1beta/models/m:generateContent");
}

TEST_CASE("equal requests have equal digests, others have not") {
    const auto digest = [](const char* target, const char* body) {
        return read_call(api::messages, target, "", body)->digest;
    };
    const auto one = digest("/v1/messages", R"({"model":"m","a":[1,2]})");
    // Path, line break, body: recordings are named by it, so it must not change.
    CHECK(one == "a4d67c4d98a3834dbbf91f5f5afef3206cd9696624cf97494a086d99735efff2");
    CHECK(one == digest("/v1/messages", R"({ "a":[1,2], "model":"m"})"));
    CHECK(one != digest("/v1/messages", R"({"model":"m","a":[2,1]})"));
    CHECK(one != digest("/v1/messages?beta=true", R"({"model":"m","a":[1,2]})"));
}

TEST_CASE("a service tier is added where there is none, and nothing else changes") {
    CHECK(with_service_tier(R"( { "model":"m"})", "flex") == R"( {"service_tier":"flex", "model":"m"})");
    CHECK(with_service_tier("{}", "flex") == R"({"service_tier":"flex"})");
    const std::string has = R"({"model":"m","service_tier":"default"})";
    CHECK(with_service_tier(has, "flex") == has);
    const auto nested = with_service_tier(R"({"a":{"service_tier":1}})", "fl\"ex");
    CHECK(json::parse(nested)["service_tier"] == "fl\"ex");
}

TEST_CASE("a refusal has the shape of the API that was asked") {
    const refusal why{403, "model_not_allowed", "no \"m\""};
    const auto openai = json::parse(error_body(api::responses, why));
    CHECK(openai["error"]["code"] == "model_not_allowed");
    CHECK(openai["error"]["message"] == "no \"m\"");
    CHECK(openai["error"].contains("param"));
    const auto anthropic = json::parse(error_body(api::messages, why));
    CHECK(anthropic["type"] == "error");
    CHECK(anthropic["error"]["type"] == "permission_error");
    CHECK(anthropic["error"]["message"] == "model_not_allowed: no \"m\"");
    for (const auto which : {api::generate_content, api::count_gemini_tokens}) {
        CHECK(json::parse(error_body(which, why))["error"] ==
              json{{"code", 403}, {"message", "model_not_allowed: no \"m\""}, {"status", "PERMISSION_DENIED"}});
    }
}
