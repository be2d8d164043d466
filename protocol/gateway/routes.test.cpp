#include "protocol/gateway/routes.hpp"

#include "tests/support/catch.hpp"

#include <cstdlib>
#include <map>

using namespace chalk;
using namespace chalk::gateway;

namespace {

provider_settings settings_of(const std::map<std::string, std::string>& variables) {
    return read_provider_settings([&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
    });
}

const provider_settings all = settings_of({{"OPENAI_API_KEY", "ok"},
                                           {"ANTHROPIC_API_KEY", "ak"},
                                           {"GEMINI_API_KEY", "gk"},
                                           {"GOOGLE_API_KEY", "other"},
                                           {"OPENAI_COMPATIBLE_BASE_URL", "http://10.0.0.1:8000/v1"}});
constexpr const char* gemini_target = "/v1beta/models/m:streamGenerateContent?alt=sse";

route routed(const provider_settings& settings, const char* model, api which, const char* target,
             std::string_view base_url = {}, const curl::http_headers& headers = {}) {
    const auto call = read_call(which, target, model, R"({"model":"m"})");
    const auto found = find_route(settings, *parse_model_name(model), base_url, *call, headers);
    return found ? *found : route{};
}

} // namespace

TEST_CASE("a model's prefix says whose it is") {
    CHECK(parse_model_name("openai/gpt")->bare == "gpt");
    CHECK(parse_model_name("openai_compatible/org/model")->bare == "org/model");
    for (const char* wrong : {"", "gpt", "openai/", "mistral/m", "/m"}) {
        CAPTURE(wrong);
        REQUIRE_FALSE(parse_model_name(wrong));
        CHECK(parse_model_name(wrong).error().kind == error_class::config);
    }
}

TEST_CASE("each provider gets its own key under its own header") {
    const auto openai = routed(all, "openai/m", api::chat_completions, "/v1/chat/completions");
    CHECK(openai.url == "https://api.openai.com/v1/chat/completions");
    CHECK(curl::find_header(openai.headers, "authorization") == "Bearer ok");
    CHECK(curl::find_header(openai.headers, "x-api-key").empty());
    CHECK(openai.key == "ok");
    const auto anthropic = routed(all, "anthropic/m", api::messages, "/v1/messages?beta=true");
    CHECK(anthropic.url == "https://api.anthropic.com/v1/messages?beta=true");
    CHECK(curl::find_header(anthropic.headers, "x-api-key") == "ak");
    CHECK(curl::find_header(anthropic.headers, "authorization").empty());
    CHECK(curl::find_header(anthropic.headers, "anthropic-version") == "2023-06-01");
    const auto gemini = routed(all, "gemini/m", api::generate_content, gemini_target);
    CHECK(gemini.url == "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse");
    CHECK(curl::find_header(gemini.headers, "x-goog-api-key") == "gk");
    CHECK(curl::find_header(gemini.headers, "authorization").empty());
    const auto own = routed(all, "openai_compatible/m", api::chat_completions, "/v1/chat/completions");
    CHECK(own.url == "http://10.0.0.1:8000/v1/chat/completions");
    CHECK(own.key.empty());
    CHECK(curl::find_header(own.headers, "authorization").empty());
}

TEST_CASE("base URLs with and without a version lead to the same place") {
    for (const char* base : {"http://h", "http://h/", "http://h/v1", "http://h/v1/"}) {
        CAPTURE(base);
        const auto to_openai = settings_of({{"OPENAI_API_KEY", "k"}, {"OPENAI_BASE_URL", base}});
        CHECK(routed(to_openai, "openai/m", api::responses, "/v1/responses").url == "http://h/v1/responses");
        const auto to_anthropic = settings_of({{"ANTHROPIC_API_KEY", "k"}, {"ANTHROPIC_BASE_URL", base}});
        CHECK(routed(to_anthropic, "anthropic/m", api::messages, "/v1/messages").url == "http://h/v1/messages");
    }
    for (const char* base : {"http://h", "http://h/v1beta/", "http://h/v1"}) {
        const auto to_gemini = settings_of({{"GOOGLE_API_KEY", "k"}, {"GOOGLE_GEMINI_BASE_URL", base}});
        const auto found = routed(to_gemini, "gemini/m", api::generate_content, gemini_target);
        CHECK(found.url == std::string("http://h") + gemini_target);
        CHECK(curl::find_header(found.headers, "x-goog-api-key") == "k");
    }
    CHECK(routed(all, "openai_compatible/m", api::responses, "/v1/responses", "https://h/api/v4").url ==
          "https://h/api/v4/responses");
    CHECK(routed(all, "openai_compatible/m", api::messages, "/v1/messages", "https://h/api").url ==
          "https://h/api/v1/messages");
}

TEST_CASE("with a proxy all calls go there, whatever the API") {
    auto settings = all;
    settings.proxy = "http://127.0.0.1:4000";
    CHECK(routed(settings, "anthropic/m", api::chat_completions, "/v1/chat/completions").url ==
          "http://127.0.0.1:4000/v1/chat/completions");
    CHECK(routed(settings, "openai/m", api::messages, "/v1/messages").url == "http://127.0.0.1:4000/v1/messages");
    CHECK(check_route(settings_of({}), "openai/m", "").error().message.find("OPENAI_API_KEY") != std::string::npos);
    auto bare = settings_of({});
    bare.proxy = "http://127.0.0.1:4000";
    CHECK(check_route(bare, "openai/m", ""));
}

TEST_CASE("a provider is not asked under another's API") {
    const auto refused = [](const char* model, api which, const char* target) {
        const auto call = read_call(which, target, "", R"({"model":"m"})");
        const auto found = find_route(all, *parse_model_name(model), "", *call, {});
        return found ? std::string() : found.error().code;
    };
    CHECK(refused("openai/m", api::messages, "/v1/messages") == "wrong_api");
    CHECK(refused("gemini/m", api::chat_completions, "/v1/chat/completions") == "wrong_api");
    CHECK(refused("anthropic/m", api::generate_content, gemini_target) == "wrong_api");
    CHECK(refused("openai_compatible/m", api::generate_content, gemini_target).empty());
}

TEST_CASE("a client's own keys, cookies and addresses do not pass") {
    const auto sent = routed(all, "openai/m", api::responses, "/v1/responses", {},
                             {{"authorization", "Bearer theirs"},
                              {"x-api-key", "theirs"},
                              {"x-goog-api-key", "theirs"},
                              {"cookie", "c"},
                              {"openai-organization", "o"},
                              {"x-chalk-model", "openai/m"},
                              {"host", "h"},
                              {"accept-encoding", "gzip"},
                              {"user-agent", "agent"},
                              {"anthropic-beta", "b"},
                              {"x-stainless-lang", "js"}});
    CHECK(sent.headers == curl::http_headers{{"user-agent", "agent"},
                                             {"anthropic-beta", "b"},
                                             {"x-stainless-lang", "js"},
                                             {"content-type", "application/json"},
                                             {"authorization", "Bearer ok"}});
}

TEST_CASE("a service tier goes with each call that knows it") {
    auto settings = all;
    settings.service_tier = "flex";
    CHECK(routed(settings, "openai/m", api::responses, "/v1/responses").body ==
          R"({"service_tier":"flex","model":"m"})");
    CHECK(routed(settings, "anthropic/m", api::count_tokens, "/v1/messages/count_tokens").body == R"({"model":"m"})");
    CHECK(routed(settings, "gemini/m", api::generate_content, gemini_target).body == R"({"model":"m"})"); // knows none
}

TEST_CASE("what is missing is said before anything starts, without a key in it") {
    CHECK(check_route(all, "openai/m", ""));
    CHECK(check_route(all, "openai_compatible/m", ""));
    CHECK(check_route(settings_of({}), "anthropic/m", "").error().message.find("ANTHROPIC_API_KEY") !=
          std::string::npos);
    CHECK(check_route(settings_of({}), "gemini/m", "").error().message.find("GEMINI_API_KEY") != std::string::npos);
    CHECK(check_route(settings_of({}), "openai_compatible/m", "").error().message.find("base_url") !=
          std::string::npos);
    CHECK_FALSE(check_route(settings_of({}), "openai_compatible/m", "ftp://h"));
}

TEST_CASE("keys come from where they were taken to, the rest from the environment") {
    ::setenv("OPENAI_COMPATIBLE_API_KEY", "a-marker", 1);
    ::setenv("GOOGLE_API_KEY", "another", 1);
    ::setenv("CHALK_INFERENCE_SERVICE_TIER", "flex", 1);
    const auto settings = read_provider_settings(own_keys::take());
    CHECK(settings.compatible_key == "a-marker");
    CHECK(settings.gemini_key == "another");
    CHECK(settings.service_tier == "flex");
    CHECK(std::getenv("OPENAI_COMPATIBLE_API_KEY") == nullptr);
    CHECK(std::getenv("GOOGLE_API_KEY") == nullptr);
    ::unsetenv("CHALK_INFERENCE_SERVICE_TIER");
}
