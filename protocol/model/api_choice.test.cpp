#include "protocol/model/api_choice.hpp"

#include "protocol/model/api_model.hpp"
#include "protocol/net/http_client.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::model;
using Catch::Matchers::Contains;

namespace {

std::string target_of(const std::string& name, const json& args = json::object()) {
    const auto choice = choose_api(name, args);
    if (!choice) {
        return choice.error().message;
    }
    const request nothing{std::make_shared<conversation>(), std::make_shared<std::vector<mcp::tool_spec>>(), 0, 0, {}};
    const auto asked = choice->speaks->make_request(nothing, choice->name, choice->args);
    CHECK_FALSE(asked.body.contains("api"));
    return asked.target + " " + asked.body.value("model", std::string("in the path"));
}

} // namespace

TEST_CASE("a model's prefix and the argument \"api\" choose the API", "[model]") {
    CHECK(target_of("openai/gpt-x") == "/v1/chat/completions gpt-x");
    CHECK(target_of("openai/gpt-x", {{"api", "chat"}}) == "/v1/chat/completions gpt-x");
    CHECK(target_of("openai/gpt-x", {{"api", "responses"}}) == "/v1/responses gpt-x");
    CHECK(target_of("openai_responses/gpt-x") == "/v1/responses gpt-x");
    CHECK(target_of("anthropic/claude-x") == "/v1/messages claude-x");
    CHECK(target_of("gemini/gemini-3.0_x") == "/v1beta/models/gemini-3.0_x:streamGenerateContent?alt=sse in the path");
    CHECK(target_of("openai_compatible/org/model:7b") == "/v1/chat/completions org/model:7b");
}

TEST_CASE("a model or an argument that no API takes is refused with its name", "[model]") {
    for (const auto* name : {"gpt-x", "mistral/x", "/x", "", "Openai/x"}) {
        CHECK_THAT(target_of(name), Contains("names no provider"));
    }
    for (const auto* name : {"openai/", "openai/a b", "openai/a\r\nX: y", "gemini/../x", "gemini/x?y", "gemini/x:y"}) {
        CHECK_THAT(target_of(name), Contains("odd characters"));
    }
    for (const auto* key : {"model", "messages", "input", "tools", "stream", "stream_options", "system", "contents",
                            "systemInstruction"}) {
        CHECK_THAT(target_of("openai/x", {{key, 1}}), Contains(std::string("model_args.") + key));
    }
    CHECK_THAT(target_of("openai/x", {{"max_tokens", "5"}}), Contains("model_args.max_tokens"));
    CHECK_THAT(target_of("openai/x", {{"api", "soap"}}), Contains("model_args.api"));
    CHECK_THAT(target_of("openai/x", {{"api", 5}}), Contains("model_args.api"));
    CHECK_THAT(target_of("anthropic/x", {{"api", "chat"}}), Contains("model_args.api"));
    CHECK_THAT(target_of("gemini/x", {{"api", "chat"}}), Contains("model_args.api"));
    CHECK_THAT(target_of("anthropic/x", {{"anthropic_beta", "a\r\nX: y"}}), Contains("anthropic_beta"));
}

TEST_CASE("a real model needs a gateway, and a script in its place does not", "[model]") {
    model_settings settings;
    settings.name = "openai/x";
    const auto why = [&] {
        auto checked = check_model(settings);
        return checked ? std::string() : checked.error().message;
    };
    CHECK_THAT(why(), Contains("gateway"));
    settings.gateway_socket = "/run/x.sock";
    CHECK(why().empty());
    settings.gateway_socket = "nowhere";
    CHECK_THAT(why(), Contains("nowhere"));
    settings.name.clear();
    CHECK_THAT(why(), Contains("use_fake_model"));
    settings.use_fake = true;
    settings.gateway_socket.clear();
    CHECK(why().empty());
}

TEST_CASE("an address is a socket's path or a host with a port", "[net]") {
    const auto text = [](std::string_view given) {
        const auto parsed = net::http_address::parse(given);
        return parsed ? parsed->text() : std::string();
    };
    CHECK(text("/run/x.sock") == "/run/x.sock");
    CHECK(text("unix:/run/x.sock") == "/run/x.sock");
    CHECK(text("127.0.0.1:80") == "127.0.0.1:80");
    CHECK(text("http://localhost:8080/") == "localhost:8080");
    CHECK(text("[::1]:80") == "[::1]:80");
    for (const std::string& bad : {std::string(), std::string("host"), std::string(":80"), std::string("host:0"),
                                   std::string("host:65536"), std::string("host:1x"), std::string("user@host:80"),
                                   std::string("https://host:1/x"), "/" + std::string(200, 'x')}) {
        INFO(bad);
        CHECK(text(bad).empty());
    }
}
