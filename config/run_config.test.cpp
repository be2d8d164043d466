#include "config/run_config.hpp"

#include "config/run_config_keys.hpp"
#include "config/seed.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace chalk;
using namespace chalk::config;
using namespace std::chrono_literals;

namespace {

/// A folder with an environment "hello" and whatever config a test writes.
struct workspace {
    test::temporary_folder folder;

    workspace() { folder.write("hello/src/environment/__init__.py", ""); }

    [[nodiscard]] std::string config(std::string_view text) const {
        return folder.write("run_config.json", text).string();
    }
    /// What is said of this config, without the folder's name; empty when it loads.
    [[nodiscard]] std::string error_of(std::string_view text, const std::vector<override_value>& flags = {}) const {
        auto loaded = load_run_config(config(text), flags);
        if (loaded) {
            return {};
        }
        CHECK(loaded.error().kind == error_class::config);
        auto message = loaded.error().message;
        const auto prefix = folder.path().string() + "/";
        for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix)) {
            message.erase(at, prefix.size());
        }
        return message;
    }
};

run_config noop_config() {
    run_config config;
    config.environment = noop_environment;
    return config;
}

const std::string every_key = R"({
  "environment": "hello",
  "task": "second",
  "task_args": {"difficulty": 3},
  "run_id": "try-1",
  "seed": 9007199254740991,
  "transcript_file": "out/here.json",
  "agent": "builtin",
  "model": "some-model",
  "model_args": {"temperature": 0.5},
  "use_fake_model": true,
  "fake_model": {"script": [[{"text": "hi", "tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]}]],
                 "latency_ms": 20},
  "backend_uri": "https://backend.example/runs",
  "websocket_port": 8000,
  "mcp_server_config": {"host": "127.0.0.2", "port": 7000},
  "save_artifacts": false,
  "limits": {"max_turns": 5, "max_time_s": 60, "max_context_tokens": 1000, "max_working_time_s": 30,
             "max_total_tokens": 5000, "max_run_turns": 50, "max_run_time_s": 600, "max_run_working_time_s": 300,
             "max_run_total_tokens": 10000000000, "max_usd": 2.5, "max_run_usd": 20},
  "extra_config": {"extra_artifact_paths": ["answer.txt"], "anything": [1, 2]}
})";

} // namespace

TEST_CASE("every key of a run config is read") {
    const workspace here;
    auto loaded = load_run_config(here.config(every_key), {});
    REQUIRE(loaded);
    const auto& c = loaded->config;
    CHECK(c.environment == here.folder.path() / "hello");
    CHECK(c.task == "second");
    CHECK(c.task_args == json{{"difficulty", 3}});
    CHECK(c.id.str() == "try-1");
    CHECK(c.seed == 9'007'199'254'740'991);
    CHECK(c.transcript_file == "out/here.json");
    CHECK(c.agent == "builtin");
    CHECK(c.model == "some-model");
    CHECK(c.model_args == json{{"temperature", 0.5}});
    CHECK(c.use_fake_model);
    CHECK(c.fake.script[0][0]["text"] == "hi");
    CHECK(c.fake.latency == 20ms);
    CHECK(c.backend_uri == "https://backend.example/runs");
    CHECK(c.websocket_port == 8000);
    CHECK(c.mcp.host == "127.0.0.2");
    CHECK(c.mcp.port == 7000);
    CHECK_FALSE(c.save_artifacts);
    CHECK(c.limit.max_turns == 5);
    CHECK(c.limit.max_time == 60s);
    CHECK(c.limit.max_context_tokens == 1000);
    CHECK(c.limit.max_working_time == 30s);
    CHECK(c.limit.max_total_tokens == 5000);
    CHECK(c.limit.run.max_turns == 50);
    CHECK(c.limit.run.max_time == 600s);
    CHECK(c.limit.run.max_working_time == 300s);
    CHECK(c.limit.run.max_total_tokens == 10'000'000'000);
    CHECK(c.limit.max_usd == 2.5);
    CHECK(c.limit.run.max_usd == 20);
    CHECK(c.extra_config["anything"] == json{1, 2});
}

TEST_CASE("a run config needs nothing but its environment") {
    const workspace here;
    auto loaded = load_run_config(here.config(R"({"environment": "hello"})"), {});
    REQUIRE(loaded);
    const run_config fresh;
    CHECK(loaded->config.transcript_file == fresh.transcript_file);
    CHECK(loaded->config.limit.max_turns == std::nullopt);
    CHECK(loaded->config.websocket_port == std::nullopt);
    CHECK(loaded->config.id.str().starts_with("hello-20"));
}

TEST_CASE("a resolved config parses back as it was, without its files") {
    const workspace here;
    auto loaded = load_run_config(here.config(every_key), {});
    REQUIRE(loaded);
    loaded->config.environment = "/nowhere/to/be/found";
    const auto sent = json::parse(to_json(loaded->config).dump());
    auto received = parse_resolved_config(sent);
    REQUIRE(received);
    CHECK(to_json(*received) == sent);
    CHECK(received->environment == "/nowhere/to/be/found");

    auto bare = parse_resolved_config(to_json(noop_config()));
    REQUIRE(bare);
    CHECK(bare->limit.max_turns == std::nullopt);
    CHECK_FALSE(parse_resolved_config(json{{"environment", "x"}, {"extra", 1}}));
    CHECK_FALSE(parse_resolved_config(json::array()));
}

TEST_CASE("a config without its defaults parses back to the same config") {
    auto config = noop_config();
    CHECK(without_defaults(to_json(config)) == json{{"environment", noop_environment}});
    config.limit.run.max_turns = 3;
    config.task_args = {{"a", json::object()}};
    config.mcp.port = 7000;
    config.extra_config = {{"deep", {{"er", 1}}}};
    const auto brief = without_defaults(to_json(config));
    CHECK(brief == json{{"environment", noop_environment},
                        {"task_args", {{"a", json::object()}}},
                        {"mcp_server_config", {{"port", 7000}}},
                        {"limits", {{"max_run_turns", 3}}},
                        {"extra_config", {{"deep", {{"er", 1}}}}}});
    CHECK(to_json(parse_resolved_config(brief).value()) == to_json(config));
    // Every key at something else.
    const workspace here;
    const auto full = to_json(load_run_config(here.config(every_key), {}).value().config);
    CHECK(to_json(parse_resolved_config(without_defaults(full)).value()) == full);
    CHECK(without_defaults(without_defaults(full)) == without_defaults(full));
}

TEST_CASE("an unknown key is named with its line, its path and the key that was meant") {
    const workspace here;
    CHECK(here.error_of("{\n\"environment\": \"hello\",\n\"modle\": \"x\"}") ==
          "run_config.json:3: modle: unknown key; did you mean \"model\"?");
    CHECK(here.error_of("{\"environment\": \"hello\", \"limits\":\n{\"max_turn\": 1}}") ==
          "run_config.json:2: limits.max_turn: unknown key; did you mean \"limits.max_turns\"?");
    CHECK(here.error_of(R"({"environment": "hello", "max_turns": 1})") ==
          "run_config.json:1: max_turns: unknown key; did you mean \"limits.max_turns\"?");
    CHECK(here.error_of(R"({"environment": "hello", "zzzz": 1})").find("known: environment, task, ") !=
          std::string::npos);
}

TEST_CASE("a value that does not fit is named with what was expected") {
    const workspace here;
    const auto said = [&](const std::string& member) {
        return here.error_of("{\"environment\": \"hello\",\n" + member + "}");
    };
    CHECK(said(R"("model": 7)") == "run_config.json:2: model: expected a string, got 7");
    CHECK(said(R"("use_fake_model": "yes")") ==
          "run_config.json:2: use_fake_model: expected true or false, got \"yes\"");
    CHECK(said(R"("websocket_port": 70000)") ==
          "run_config.json:2: websocket_port: expected a whole number from 1 to 65535 or null, got 70000");
    CHECK(said(R"("websocket_port": -1)").find("got -1") != std::string::npos);
    CHECK(said(R"("websocket_port": 80.5)").find("got 80.5") != std::string::npos);
    CHECK(said(R"("websocket_port": 99999999999999999999)").find("websocket_port: expected") != std::string::npos);
    CHECK(said(R"("limits": {"max_turns": 0})").find("from 1 to 1000000") != std::string::npos);
    CHECK(said(R"("limits": [])") == "run_config.json:2: limits: expected an object, got a list");
    CHECK(said(R"("agent": "buildin")") ==
          "run_config.json:2: agent: expected one of \"builtin\", \"oracle\", \"external\", "
          "\"claude-code\", "
          "\"codex\", \"gemini-cli\", \"opencode\", got \"buildin\"; "
          "did you mean \"builtin\"?");
    CHECK(said(R"("task_args": null)") == "run_config.json:2: task_args: expected an object, got null");
    CHECK(said(R"("run_id": "a/b")").find("run_config.json:2: run_id: ") == 0);
    CHECK(said(R"("backend_uri": "backend.example")").find("https://") != std::string::npos);
    CHECK(said(R"("transcript_file": "out/")").find("path of a file") != std::string::npos);
    CHECK(said(R"("extra_config": {"extra_artifact_paths": "x"})") ==
          "run_config.json:2: extra_config.extra_artifact_paths: expected a list of strings, got \"x\"");
    CHECK(said(R"("task": "a\u0000b")").find("NUL") != std::string::npos);
    CHECK(said(R"("limits": {"max_turns": null}, "run_id": null)").empty());
}

TEST_CASE("a missing environment, a wrong one and one that is no environment are told apart") {
    const workspace here;
    here.folder.write("plain/readme", "");
    CHECK(here.error_of("{}") == "run_config.json: environment: this key is missing; expected a string");
    CHECK(here.error_of("{\n\"environment\": \"helo\"}") == "run_config.json:2: environment: helo: no such folder");
    CHECK(here.error_of(R"({"environment": "run_config.json"})").find("is not a folder") != std::string::npos);
    CHECK(here.error_of(R"({"environment": "plain"})").find("src/environment/__init__.py") != std::string::npos);
    CHECK(here.error_of(R"({"environment": "builtin:no"})").find("builtin:noop") != std::string::npos);
    CHECK(here.error_of(R"({"environment": ""})").find("must not be empty") != std::string::npos);
    CHECK(here.error_of(R"({"environment": "builtin:noop"})").empty());
    CHECK(here.error_of(R"({"environment": "hello/"})").empty());
}

TEST_CASE("a config that cannot be read or is no JSON is named with its file and line") {
    const workspace here;
    const auto absent = load_run_config((here.folder.path() / "absent.json").string(), {});
    REQUIRE_FALSE(absent);
    CHECK(absent.error().message.find("absent.json: no such file") != std::string::npos);
    CHECK(here.error_of("{\"environment\": \"hello\",").find("run_config.json:1: ") == 0);
    CHECK(here.error_of("").find("run_config.json:1: ") == 0);
    CHECK(here.error_of("[]") == "run_config.json: expected an object, got a list");
    CHECK(here.error_of("{\"environment\": \"hello\",\n\"task\": \"\xff\"}").find("run_config.json:2: task: ") == 0);
    CHECK(here.error_of("{\"environment\": \"hello\",\n\"task\": \"a\",\n\"task\": \"b\"}") ==
          "run_config.json:3: task: the key is there twice (first on line 2)");
    CHECK(here.error_of("{\"task_args\": " + std::string(500, '[')).find("nested more than 64 levels") !=
          std::string::npos);
}

TEST_CASE("a config may be given as JSON text") {
    auto loaded = load_run_config(" \n{\"environment\": \"builtin:noop\", \"run_id\": \"x\"}", {});
    REQUIRE(loaded);
    CHECK(loaded->config.id.str() == "x");
    CHECK(loaded->sources.at("run_id") == "--config:2");
    CHECK(load_run_config("{\"environmen\": 1}", {}).error().message ==
          "--config:1: environmen: unknown key; did you mean \"environment\"?");
}

TEST_CASE("a flag overrides a key, and its value is looked at as strictly") {
    const workspace here;
    auto loaded = load_run_config(here.config("{\"environment\": \"hello\",\n\"model\": \"a\", \"task\": \"t\"}"),
                                  {{"model", "--model", "b"}, {"model", "--model", "c"}, {"websocket_port", "-p", 80}});
    REQUIRE(loaded);
    CHECK(loaded->config.model == "c");
    CHECK(loaded->config.websocket_port == 80);
    CHECK(loaded->sources.at("model") == "--model");
    CHECK(loaded->sources.at("task").ends_with("run_config.json:2"));
    CHECK(loaded->sources.at("agent") == "default");
    CHECK(loaded->sources.size() == run_config_keys().size());

    CHECK(here.error_of(R"({"environment": "hello"})", {{"websocket_port", "--websocket-port", 0}}) ==
          "--websocket-port: expected a whole number from 1 to 65535 or null, got 0");
    CHECK(here.error_of(R"({"environment": "hello"})", {{"nothing", "--x", 0}}) == "--x: there is no key \"nothing\"");
}

TEST_CASE("a script of the fake model is read from its file, relative to the config") {
    const workspace here;
    here.folder.write("scripts/good.json", R"([[{"text": "hi"}], []])");
    here.folder.write("scripts/bad.json", "[[\n{\"txt\": \"hi\"}]]");
    const auto with = [](std::string_view script) {
        return R"({"environment": "hello", "fake_model": {"script": )" + std::string(script) + "}}";
    };
    auto loaded = load_run_config(here.config(with("\"scripts/good.json\"")), {});
    REQUIRE(loaded);
    CHECK(loaded->config.fake.script == json::parse(R"([[{"text": "hi"}], []])"));
    CHECK(here.error_of(with("\"scripts/bad.json\"")) ==
          "scripts/bad.json:2: [0][0].txt: unknown key; did you mean \"text\"?");
    CHECK(here.error_of(with("\"absent.json\"")).find("fake_model.script: absent.json: no such file") !=
          std::string::npos);
}

TEST_CASE("a script of the fake model that has the wrong shape is named with its place") {
    const workspace here;
    const auto said = [&](std::string_view script) {
        return here.error_of(R"({"environment": "hello", "fake_model": {"script": )" + std::string(script) + "}}");
    };
    CHECK(said("[{}]").find("fake_model.script[0]: expected a step, a list of turns, got an object") !=
          std::string::npos);
    CHECK(said("[[7]]").find("[0][0]: expected a turn") != std::string::npos);
    CHECK(said(R"([[{"text": 7}]])").find("[0][0].text: expected a string") != std::string::npos);
    CHECK(said(R"([[{"stop_reason": "len"}]])").find("\"length\"") != std::string::npos);
    CHECK(said(R"([[{"tool_calls": {}}]])").find("tool_calls: expected a list") != std::string::npos);
    CHECK(said(R"([[{"tool_calls": [{}]}]])").find("tool_calls[0]: the key \"name\" is missing") != std::string::npos);
    CHECK(said(R"([[{"tool_calls": [{"name": "a", "arguments": []}]}]])").find("arguments: expected an object") !=
          std::string::npos);
    CHECK(said("7").find("expected a path or a list of steps") != std::string::npos);
    CHECK(said(R"([[{"text": "a", "reasoning": "b", "stop_reason": "length"}], []])").empty());
}

TEST_CASE("a made-up run id comes from the environment's folder and the time") {
    const wall_time noon = std::chrono::sys_days(std::chrono::year(2026) / 1 / 31) + 12h + 5ms;
    CHECK(make_run_id("/a/hello", noon).str() == "hello-20260131-120000005");
    CHECK(make_run_id("builtin:noop", noon).str() == "noop-20260131-120000005");
    CHECK(make_run_id("/a/.we ird", noon).str() == "we-ird-20260131-120000005");
    CHECK(make_run_id("/a/\xc3\xa4", noon).str() == "run-20260131-120000005");
    CHECK(make_run_id("/a/" + std::string(200, 'x'), noon).indexed(99'999));
}

TEST_CASE("parallel runs get ids, files and ports of their own") {
    auto config = noop_config();
    config.id = run_id::parse("x").value();
    config.transcript_file = "out/t.json";
    config.websocket_port = std::uint16_t{8000};
    config.seed = 5;
    auto runs = split(config, 3);
    REQUIRE(runs);
    REQUIRE(runs->size() == 3);
    CHECK(runs->at(0).id.str() == "x-0");
    CHECK(runs->at(2).id.str() == "x-2");
    CHECK(runs->at(2).transcript_file == "out/t_2.json");
    CHECK(runs->at(2).websocket_port == 8002);
    CHECK(runs->at(2).seed == seed_of(5, 2));
    CHECK(split(config, 1)->at(0).seed == 5);
    CHECK(split(config, 1)->at(0).id.str() == "x");
    CHECK_FALSE(split(config, 0));
    config.websocket_port = std::uint16_t{65534};
    CHECK(split(config, 2));
    CHECK_FALSE(split(config, 3));
}
