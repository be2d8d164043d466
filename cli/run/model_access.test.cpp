#include "cli/run/model_access.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

using namespace chalk;
using namespace chalk::cli;

namespace {

config::run_config asks(const char* model) {
    config::run_config config;
    config.environment = "/somewhere";
    config.model = model;
    return config;
}

gateway::provider_settings with_key() {
    gateway::provider_settings providers;
    providers.openai_key = "marker-key";
    return providers;
}

} // namespace

TEST_CASE("a run with a fake model needs no key and gets no gateway") {
    auto config = asks("openai/m");
    config.use_fake_model = true;
    const auto settings = make_gateway_settings({}, config, {});
    REQUIRE(settings);
    CHECK_FALSE(settings->has_value());
    CHECK_FALSE(make_account_settings({}, config, "0-0"));
}

TEST_CASE("a model without its key is refused before anything starts, unless it is replayed") {
    const auto settings = make_gateway_settings({}, asks("openai/m"), {});
    REQUIRE_FALSE(settings);
    CHECK(settings.error().kind == error_class::config);
    CHECK(settings.error().message.find("OPENAI_API_KEY") != std::string::npos);
    run_options replayed;
    replayed.replay = "/recordings";
    REQUIRE(make_gateway_settings(replayed, asks("openai/m"), {}));
}

TEST_CASE("a limit of dollars needs a price") {
    auto config = asks("openai/m");
    config.limit.max_usd = 1;
    const auto refused = make_gateway_settings({}, config, with_key());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("--prices") != std::string::npos);
    const test::temporary_folder folder;
    run_options options;
    options.prices = folder.path() / "prices.json";
    std::ofstream(*options.prices) << R"({"m": {"input": 1, "output": 2}})";
    REQUIRE(make_gateway_settings(options, config, with_key()));
    config.limit.max_usd.reset();
    config.limit.run.max_usd = 1;
    CHECK(make_gateway_settings({}, config, with_key()).error().message.find("max_run_usd") != std::string::npos);
}

TEST_CASE("flags and config become the gateway's settings and a run's account") {
    run_options options;
    options.proxy = "http://127.0.0.1:4000";
    auto config = asks("openai_compatible/m");
    config.model_args = {{"base_url", "http://h"}};
    config.limit.run.max_total_tokens = 5;
    const auto settings = make_gateway_settings(options, config, with_key());
    REQUIRE(settings);
    REQUIRE(settings->has_value());
    CHECK((*settings)->providers.proxy == "http://127.0.0.1:4000");
    config.limit.max_usd = 2; // the step's is the harness's to keep
    config.limit.run.max_usd = 3;
    const auto account = make_account_settings(options, config, "0-3");
    REQUIRE(account);
    CHECK(account->models == std::vector<std::string>{"openai_compatible/m"});
    CHECK(account->base_url == "http://h");
    CHECK(account->budget.tokens == 5);
    CHECK(account->budget.usd == 3);
    CHECK(account->seed == "0-3");
}
