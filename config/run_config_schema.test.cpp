#include "config/run_config.hpp"
#include "config/run_config_keys.hpp"
#include "protocol/core/read_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/json_schema.hpp"

using namespace chalk;
using namespace chalk::config;

TEST_CASE("the schema and the loader agree") {
    // No file is looked for here: the schema cannot know files either.
    const auto schema = run_config_schema();
    const auto check = [&](const char* text, bool good) {
        const auto value = json::parse(text);
        INFO(text);
        INFO(test::schema_violation(schema, value));
        CHECK(test::schema_violation(schema, value).empty() == good);
        CHECK(parse_resolved_config(value).has_value() == good);
    };
    check(R"({"environment": "x"})", true);
    check(R"({"environment": "x", "run_id": null, "websocket_port": null, "limits": {"max_turns": null}})", true);
    check(R"({"environment": "x", "extra_config": {"mine": 1, "extra_artifact_paths": ["a"]}})", true);
    check(R"({"environment": "x", "fake_model": {"script": [[{"text": "a", "stop_reason": "length"}]]}})", true);
    check(R"({"environment": "x", "backend_uri": "wss://b/c"})", true);
    check(R"({"environment": "x", "backend_uri": ""})", true);
    check(R"([])", false);
    check(R"({})", false);
    check(R"({"environment": ""})", false);
    check(R"({"environment": "x", "modle": "y"})", false);
    check(R"({"environment": "x", "model": 1})", false);
    check(R"({"environment": "x", "agent": "other"})", false);
    check(R"({"environment": "x", "run_id": "-a"})", false);
    check(R"({"environment": "x", "run_id": "a/b"})", false);
    check(R"({"environment": "x", "backend_uri": "b"})", false);
    check(R"({"environment": "x", "websocket_port": 0})", false);
    check(R"({"environment": "x", "seed": 0})", true);
    check(R"({"environment": "x", "seed": 9007199254740992})", false);
    check(R"({"environment": "x", "limits": {"max_turns": 0}})", false);
    check(R"({"environment": "x", "limits": {"max_turn": 1}})", false);
    check(R"({"environment": "x", "fake_model": {"script": [[{"txt": "a"}]]}})", false);
    check(R"({"environment": "x", "fake_model": {"latency_ms": 1.5}})", false);
    check(R"({"environment": "x", "extra_config": {"extra_artifact_paths": [1]}})", false);
}

TEST_CASE("a config written by chalk fits the schema") {
    run_config config;
    config.environment = noop_environment;
    CHECK(test::schema_violation(run_config_schema(), to_json(config)).empty());
}

TEST_CASE("every key has a sentence, and a default that passes its own check") {
    for (const auto& spec : run_config_keys()) {
        INFO(spec.path);
        CHECK(spec.doc.ends_with('.'));
        if (!spec.required && spec.get != nullptr) {
            CHECK(check_value(spec, spec.get(run_config{})).empty());
        }
    }
}

TEST_CASE("the reference has the table of keys that the code has") {
    const auto page = read_file(CHALK_SOURCE_DIR "/docs/reference/run-config.md", 1_MiB);
    REQUIRE(page);
    INFO(run_config_markdown());
    CHECK(page->find("\n\n" + run_config_markdown() + "\n") != std::string::npos);
}
