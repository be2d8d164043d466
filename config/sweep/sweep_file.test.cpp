#include "config/sweep/sweep_file.hpp"

#include "config/sweep/sweep_file_keys.hpp"
#include "protocol/core/read_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace chalk;
using namespace chalk::config;
using namespace std::chrono_literals;

namespace {

struct workspace {
    test::temporary_folder folder;

    workspace() {
        folder.write("hello/src/environment/__init__.py", "");
        folder.write("other/src/environment/__init__.py", "");
        folder.write("script.json", R"([[{"text": "hi"}]])");
    }
    [[nodiscard]] result<loaded_sweep_file> load(std::string_view text, const std::string& name = "sweep.json",
                                                 const std::vector<override_value>& flags = {}) const {
        return load_sweep_file(folder.write(name, text).string(), flags);
    }
    /// What is said of this file, without the folder's name; empty when it loads.
    [[nodiscard]] std::string error_of(std::string_view text, const std::string& name = "sweep.json",
                                       const std::vector<override_value>& flags = {}) const {
        auto loaded = load(text, name, flags);
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
    /// Of a file that has these members besides a name and a base.
    [[nodiscard]] std::string said(const std::string& members) const {
        return error_of("{\"name\": \"s\", \"base\": {\"environment\": \"hello\"},\n" + members + "}");
    }
};

const std::string every_key = R"({
  "name": "night",
  "base": {"environment": "hello", "limits": {"max_turns": 5}},
  "axes": {"task": ["x", "a"], "model": ["openai/m"], "pair": [{"agent": "codex", "limits.max_turns": null}, {}]},
  "include": [{"task": ["x", "a"]}],
  "exclude": [{"task": "a", "agent": "codex"}],
  "repeat": 3,
  "seed": 7,
  "retry": {"max_attempts": 5, "on": ["task", "timeout"], "backoff_s": 0.25, "max_backoff_s": 4},
  "deadlines": {"prepare_s": 1, "setup_s": 2, "agent_s": 3, "score_s": 4, "teardown_s": 5, "run_s": 6, "sweep_s": 7.5},
  "stop": {"max_errors": 10, "max_error_rate": 0.5, "after_runs": 4, "first_pass": true},
  "breaker": {"max_errors": 3, "window_s": 60, "scope": "sweep"},
  "budget": {"max_concurrent": 8, "cpus": 1.5, "memory_bytes": 1000, "disk_bytes": 2000, "processes": 30,
             "open_files": 40, "tokens": 50, "usd": 6.5},
  "seal_at": 0.95
})";

std::vector<std::string> names_of(const sweep_matrix& matrix) {
    std::vector<std::string> names;
    for (const auto& axis : matrix.axes()) {
        names.push_back(axis.name);
    }
    return names;
}

} // namespace

TEST_CASE("every key of a sweep file is read") {
    const workspace here;
    auto loaded = here.load(every_key);
    REQUIRE(loaded);
    const auto& s = loaded->sweep;
    CHECK(s.name == "night");
    CHECK(loaded->base.environment == here.folder.path() / "hello");
    CHECK(names_of(loaded->matrix) == std::vector<std::string>{"task", "model", "pair"});
    CHECK(loaded->matrix.combinations() == 4);
    CHECK(loaded->matrix.count_kept() == 3);
    CHECK(s.repeat == 3);
    CHECK(s.seed == 7);
    CHECK(s.retry.max_attempts == 5);
    CHECK(s.retry.on == std::vector{error_class::task, error_class::timeout});
    CHECK(s.retry.backoff == 250ms);
    CHECK(s.retry.max_backoff == 4s);
    CHECK(s.deadlines.prepare == 1s);
    CHECK(s.deadlines.setup == 2s);
    CHECK(s.deadlines.agent == 3s);
    CHECK(s.deadlines.score == 4s);
    CHECK(s.deadlines.teardown == 5s);
    CHECK(s.deadlines.run == 6s);
    CHECK(s.deadlines.sweep == 7500ms);
    CHECK(s.stop.max_errors == 10);
    CHECK(s.stop.max_error_rate == 0.5);
    CHECK(s.stop.after_runs == 4);
    CHECK(s.stop.first_pass);
    CHECK(s.breaker.max_errors == 3);
    CHECK(s.breaker.window == 1min);
    CHECK(s.breaker.scope == breaker_scope::sweep);
    CHECK(s.budget.max_concurrent == 8);
    CHECK(s.budget.cpus == 1.5);
    CHECK(s.budget.memory == bytes{1000});
    CHECK(s.budget.disk == bytes{2000});
    CHECK(s.budget.processes == 30);
    CHECK(s.budget.open_files == 40);
    CHECK(s.budget.tokens == 50);
    CHECK(s.budget.usd == 6.5);
    CHECK(s.seal_at == 0.95);
    for (const auto& row : sweep_file_keys()) { // a key that this test forgot would still have its default
        INFO(row.spec.path);
        CHECK((row.get == nullptr || row.get(s) != row.get(sweep_file{})));
    }
}

TEST_CASE("a sweep needs a name and a base, and then is one run") {
    const workspace here;
    auto loaded = here.load(R"({"name": "s", "base": {"environment": "hello"}})");
    REQUIRE(loaded);
    CHECK(loaded->matrix.combinations() == 1);
    CHECK(loaded->sweep.repeat == 1);
    CHECK(here.error_of("{}") == "sweep.json: name: this key is missing; expected a string");
    CHECK(here.error_of(R"({"name": "s"})").find("base: this key is missing") != std::string::npos);
}

TEST_CASE("a sweep file may be TOML, where dotted keys need no quotes") {
    const workspace here;
    auto loaded = here.load(R"(
name = "night"
repeat = 2
[base]
environment = "hello"
[axes]
task_args.level = [1, 2]
limits.max_turns = [5, 6]
model = ["a"]
[[axes.pair]]
agent = "codex"
limits.max_total_tokens = 10
[[axes.pair]]
agent = "builtin"
[[exclude]]
task_args.level = 2
limits.max_turns = [6]
)",
                            "sweep.toml");
    REQUIRE(loaded);
    CHECK(names_of(loaded->matrix) == std::vector<std::string>{"task_args.level", "limits.max_turns", "model", "pair"});
    CHECK(loaded->matrix.count_kept() == 6);
    CHECK(loaded->matrix.at(0).assignment == json{{"task_args.level", 1},
                                                  {"limits.max_turns", 5},
                                                  {"model", "a"},
                                                  {"agent", "codex"},
                                                  {"limits.max_total_tokens", 10}});
    CHECK(here.error_of("name = \"s\"\n[base]\nenvironment = \"hello\"\n[axes]\nmodle = [\"a\"]\n", "sweep.toml")
              .starts_with("sweep.toml:5: axes.modle[0]: "));
    CHECK(here.error_of("name = \"s\"\nname = 1\n", "sweep.toml").starts_with("sweep.toml:2: "));
}

TEST_CASE("a base may be a file of its own, with paths relative to it") {
    const workspace here;
    here.folder.write("configs/run.json", "{\"environment\": \"../hello\",\n\"run_id\": \"mine\", \"modle\": 1}");
    CHECK(here.error_of(R"({"name": "s", "base": "configs/run.json"})") ==
          "configs/run.json:2: modle: unknown key; did you mean \"model\"?");
    here.folder.write("configs/run.json", "{\"environment\": \"../hello\", \"run_id\": \"mine\"}");
    auto loaded = here.load(R"({"name": "s", "base": "configs/run.json"})");
    REQUIRE(loaded);
    CHECK(loaded->base.environment == here.folder.path() / "hello");
    CHECK(loaded->base.id.empty());
    CHECK(here.error_of("{\"name\": \"s\",\n\"base\": \"absent.json\"}") ==
          "sweep.json:2: base: absent.json: no such file");
    here.folder.write("configs/run.json", "{\"environment\": \"../hello\",\n\"seed\": 1}");
    CHECK(
        here.error_of(R"({"name": "s", "base": "configs/run.json"})").starts_with("configs/run.json:2: seed: a sweep"));
}

TEST_CASE("what is wrong in a base is named with its line and its path in the sweep file") {
    const workspace here;
    const auto base = [&](const std::string& text) {
        return here.error_of("{\"name\": \"s\",\n\"base\": " + text + "}");
    };
    CHECK(base("{\"environment\": \"hello\",\n\"limits\": {\"max_turn\": 1}}") ==
          "sweep.json:3: base.limits.max_turn: unknown key; did you mean \"limits.max_turns\"?");
    CHECK(base("{\"environment\": \"helo\"}") == "sweep.json:2: base.environment: helo: no such folder");
    CHECK(base("{\"environment\": \"hello\", \"fake_model\": {\"script\": [[7]]}}") ==
          "sweep.json:2: base.fake_model.script[0][0]: expected a turn, an object, got 7");
    CHECK(base("{\"environment\": \"hello\", \"websocket_port\": 8000}") ==
          "sweep.json:2: base.websocket_port: the runs of a sweep serve no websocket");
    CHECK(base("{}") ==
          "sweep.json:2: base: the key \"environment\" is missing; expected it here, or in every value of "
          "an axis");
    CHECK(base("7") == "sweep.json:2: base: expected a run config or the path of one, got 7");
}

TEST_CASE("wrong settings are named with their place") {
    const workspace here;
    CHECK(here.said("\"repeats\": 2") == "sweep.json:2: repeats: unknown key; did you mean \"repeat\"?");
    CHECK(here.said("\"max_attempts\": 2") ==
          "sweep.json:2: max_attempts: unknown key; did you mean \"retry.max_attempts\"?");
    CHECK(here.said("\"repeat\": 0").find("repeat: expected a whole number from 1") != std::string::npos);
    CHECK(here.said("\"seal_at\": 1.5") ==
          "sweep.json:2: seal_at: expected a number above 0, at most 1 or null, got 1.5");
    CHECK(here.said("\"retry\": {\"on\": [\"sandbx\"]}").find("did you mean \"sandbox\"?") != std::string::npos);
    CHECK(here.said("\"retry\": {\"on\": [\"config\"]}").find("expected a list of any of") != std::string::npos);
    CHECK(here.said("\"retry\": {\"backoff_s\": 5,\n\"max_backoff_s\": 1}") ==
          "sweep.json:3: retry.max_backoff_s: expected at least backoff_s");
    CHECK(here.said("\"breaker\": {\"scope\": \"cel\"}").find("did you mean \"cell\"?") != std::string::npos);
    CHECK(here.error_of(R"({"name": "a/b", "base": {"environment": "hello"}})").find("sweep.json:1: name: ") == 0);
    const std::string longest(80, 'n'); // and a dot, 16 digits, a dot, 2 digits of a repeat
    const auto with = [&](const std::string& name, int repeat) {
        return here.error_of(
            fmt::format(R"({{"name": "{}", "repeat": {}, "base": {{"environment": "hello"}}}})", name, repeat));
    };
    CHECK(with(longest, 100).empty());
    CHECK(with(longest, 101).find("name: run ids would have up to 101 characters, more than 100") != std::string::npos);
}

TEST_CASE("a bad value of an axis is refused with its place before anything starts") {
    const workspace here;
    CHECK(
        here.said("\"axes\": {\"modle\": [\n\"a\"]}") ==
        "sweep.json:2: axes.modle[0]: \"modle\" is no key of a run config, so its values must be objects of keys, got "
        "\"a\"; did you mean \"model\"?");
    CHECK(here.said("\"axes\": {\"limits.max_turns\": [5, 0]}") ==
          "sweep.json:2: axes.\"limits.max_turns\"[1]: expected a whole number from 1 to 1000000 or null, got 0");
    CHECK(here.said("\"axes\": {\"pair\": [{\"agent\": \"codex\"},\n{\"agnt\": \"codex\"}]}") ==
          "sweep.json:3: axes.pair[1].agnt: a run config has no such key; did you mean \"agent\"?");
    CHECK(here.said("\"axes\": {\"pair\": [{\"max_turns\": 1}]}").find("did you mean \"limits.max_turns\"?") !=
          std::string::npos);
    CHECK(here.said("\"axes\": {\"environment\": [\"hello\", \"helo\"]}") ==
          "sweep.json:2: axes.environment[1]: helo: no such folder");
    CHECK(here.said("\"axes\": {\"fake_model.script\": [\"script.json\", \"absent.json\"]}") ==
          "sweep.json:2: axes.\"fake_model.script\"[1]: absent.json: no such file");
    CHECK(here.said("\"axes\": {\"fake_model.script\": [[[{\"txt\": 1}]]]}").find("[0][0][0].txt: unknown key") !=
          std::string::npos);
    CHECK(here.said("\"axes\": {\"extra_config.extra_artifact_paths\": [\"a\"]}").find("expected a list of strings") !=
          std::string::npos);
    CHECK(here.said("\"axes\": {\"seed\": [1]}").find("a sweep derives the seed") != std::string::npos);
    CHECK(here.said("\"axes\": {\"run_id\": [\"a\"]}").find("a sweep names its runs itself") != std::string::npos);
    CHECK(here.said("\"axes\": {\"model\": []}") ==
          "sweep.json:2: axes.model: expected a list of at least one value, got an empty list");
    CHECK(here.said("\"axes\": {\"model\": \"a\"}") ==
          "sweep.json:2: axes.model: expected a list of at least one value, got \"a\"");
    CHECK(here.said("\"axes\": {\"model\": [\"a\", \"b\", \"a\"]}") ==
          "sweep.json:2: axes.model[2]: the same value as axes.model[0]");
    CHECK(here.said("\"axes\": []") == "sweep.json:2: axes: expected an object of lists, got a list");
    CHECK(here.error_of(R"({"name": "s", "base": {"environment": "hello", "task_args": {"a": 1}},
                            "axes": {"task_args.a.b": [1]}})")
              .find("cannot set task_args.a.b: the base has no object on the way to it, but 1") != std::string::npos);
    CHECK(here.said("\"axes\": {\"task_args.\": [1]}").find("is no key of a run config") != std::string::npos);
}

TEST_CASE("no key is set twice in a cell, nor one inside another") {
    const workspace here;
    CHECK(here.said("\"axes\": {\"model\": [\"a\"], \"pair\": [{\"model\": \"b\"}]}") ==
          "sweep.json:2: axes.pair[0]: axis \"pair\" sets \"model\", but axis \"model\" already sets \"model\"");
    CHECK(here.said("\"axes\": {\"task_args\": [{}], \"task_args.level\": [1]}").find("already sets \"task_args\"") !=
          std::string::npos);
    CHECK(here.said("\"axes\": {\"task_args.level\": [1], \"task_args\": [{}]}")
              .find("already sets \"task_args.level\"") != std::string::npos);
    CHECK(here.said("\"axes\": {\"x\": [{\"task_args\": {}, \"task_args.level\": 1}]}")
              .find("sets \"task_args\" and \"task_args.level\"") != std::string::npos);
    CHECK(here.said("\"axes\": {\"x\": [{\"task_args\": {}}, {\"task_args.level\": 1}], \"task_args.level2\": [1]}")
              .find("already sets \"task_args\"") != std::string::npos);
    CHECK(here.said("\"axes\": {\"x\": [{\"task_args.level\": 1}], \"task_args.level2\": [1]}").empty());
}

TEST_CASE("filters name axes, keys that move together, values and lists of values") {
    const workspace here;
    const auto kept = [&](const std::string& filters) -> std::vector<std::string> {
        auto loaded = here.load(R"({"name": "s", "base": {"environment": "hello"},
            "axes": {"task": ["a", "b", "c"], "pair": [{"agent": "codex", "model": "m"}, {"agent": "codex"}, {}]}, )" +
                                filters + "}");
        if (!loaded) {
            return {loaded.error().message.substr(loaded.error().message.find("json:") + 5)};
        }
        std::vector<std::string> labels;
        for (auto at = loaded->matrix.next_kept(0); at; at = loaded->matrix.next_kept(*at + 1)) {
            labels.push_back(loaded->matrix.at(*at).label);
        }
        return labels;
    };
    using labels = std::vector<std::string>;
    CHECK(kept(R"("include": [{"task": "a", "model": "m"}])") == labels{"task=a agent=codex model=m"});
    CHECK(kept(R"("include": [{"task": ["a", "b"], "pair": {}}])") == labels{"task=a", "task=b"});
    CHECK(kept(R"("include": [{"pair": [{}, {"agent": "codex"}], "task": "c"}])") ==
          labels{"task=c agent=codex", "task=c"});
    CHECK(kept(R"("include": [{"task": "a"}, {"pair": {}}], "exclude": [{"agent": "codex"}])") ==
          labels{"task=a", "task=b", "task=c"});
    CHECK(kept(R"("include": [], "exclude": [])").size() == 9);
    CHECK(kept(R"("exclude": [{"tsk": "a"}])") ==
          labels{"2: exclude[0].tsk: no axis sets this; did you mean \"task\"?"});
    CHECK(kept(R"("exclude": [{"pair": {"agent": "codx"}}])") ==
          labels{"2: exclude[0].pair: axis \"pair\" has no value an object"});
    CHECK(kept(R"("exclude": [{"agent": "codx"}])") ==
          labels{"2: exclude[0].agent: axis \"pair\" has no value \"codx\"; did you mean \"codex\"?"});
    CHECK(kept(R"("exclude": [{"task": ["a", "d"]}])") ==
          labels{"2: exclude[0].task[1]: axis \"task\" has no value \"d\"; did you mean \"a\"?"});
    CHECK(kept(R"("exclude": [{"task": []}])").front().find("got an empty list") != std::string::npos);
    CHECK(kept(R"("exclude": [{}])") == labels{"2: exclude[0]: expected at least one axis or key"});
    CHECK(kept(R"("exclude": ["task"])").front().find("expected a list of objects") != std::string::npos);
    CHECK(kept(R"("exclude": [{"task": ["a", "b", "c"]}])") == labels{"2: exclude: the filters leave no cell"});
}

TEST_CASE("flags set keys of the base, but not those of an axis") {
    const workspace here;
    const std::string text = R"({"name": "s", "base": {"environment": "hello"}, "axes": {"task_args.level": [1]}})";
    auto loaded = here.load(text, "sweep.json", {{"model", "--model", "m"}});
    REQUIRE(loaded);
    CHECK(loaded->base.model == "m");
    CHECK(loaded->base_sources.at("model") == "--model");
    CHECK(here.error_of(text, "sweep.json", {{"task_args", "--args", json::object()}}) ==
          "--args: axis \"task_args.level\" of sweep.json sets this");
}

TEST_CASE("a sweep of more runs than a number holds is refused") {
    const workspace here;
    std::string axes;
    for (int i = 0; i < 10; ++i) {
        axes += fmt::format("{}\"task_args.a{}\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", i == 0 ? "" : ", ", i);
    }
    CHECK(here.said("\"repeat\": 100000000, \"axes\": {" + axes + "}").empty());
    CHECK(here.said("\"repeat\": 1000000000, \"axes\": {" + axes + "}").find("more than 2^62 runs") !=
          std::string::npos);
}

TEST_CASE("what a sweep's folder keeps is read back as it was, without the file") {
    const workspace here;
    here.folder.write("run.json", R"({"environment": "hello", "fake_model": {"script": "script.json"}})");
    auto loaded = here.load(R"({"name": "s", "base": "run.json", "repeat": 4, "retry": {"backoff_s": 0.5},
        "axes": {"task": ["b", "a"], "environment": ["other", "hello"], "x": [{"agent": "codex"}, {"agent": "builtin"}],
                 "task_args.level": [[1], 2]},
        "exclude": [{"task": "b", "agent": "codex"}, {"task_args.level": [[1]], "environment": "hello"}]})");
    REQUIRE(loaded);
    const auto text = stored_sweep(*loaded);
    std::filesystem::remove(here.folder.path() / "run.json");
    std::filesystem::remove(here.folder.path() / "sweep.json");
    std::filesystem::remove(here.folder.path() / "script.json");
    auto again = load_stored_sweep(text, "stored");
    if (!again) {
        FAIL(again.error().message);
    }
    CHECK(again->digest == loaded->digest);
    CHECK(again->source == loaded->source);
    CHECK(to_json(again->base) == to_json(loaded->base));
    CHECK(again->base.fake.script.size() == 1);
    CHECK(again->sweep.retry.backoff == 500ms);
    CHECK(names_of(again->matrix) == std::vector<std::string>{"task", "environment", "x", "task_args.level"});
    CHECK(again->matrix.count_kept() == loaded->matrix.count_kept());
    for (std::uint64_t i = 0; i < loaded->matrix.combinations(); ++i) {
        CHECK(again->matrix.at(i).id == loaded->matrix.at(i).id);
        CHECK(again->matrix.keeps(i) == loaded->matrix.keeps(i));
    }
    CHECK(stored_sweep(*again) == text);
}

TEST_CASE("a stored sweep whose scripts have changed is refused, as is what is none") {
    const workspace here;
    auto loaded = here.load(R"({"name": "s", "base": {"environment": "hello"},
                                "axes": {"fake_model.script": ["script.json"]}})");
    REQUIRE(loaded);
    const auto text = stored_sweep(*loaded);
    CHECK(load_stored_sweep(text, "stored"));
    here.folder.write("script.json", R"([[{"text": "other"}]])");
    auto changed = load_stored_sweep(text, "stored");
    REQUIRE_FALSE(changed);
    CHECK(changed.error().message.find("stored: a script that an axis names by its path has changed") == 0);
    CHECK_FALSE(load_stored_sweep("{}", "stored"));
    CHECK_FALSE(load_stored_sweep("[]", "stored"));
    CHECK_FALSE(load_stored_sweep("{", "stored"));
}

TEST_CASE("a digest tells what the runs do, not how often they are tried") {
    const workspace here;
    const auto digest = [&](const std::string& members) {
        return here.load(R"({"name": "s", "base": {"environment": "hello"})" + members + "}").value().digest;
    };
    const auto plain = digest("");
    CHECK(plain.starts_with("sha256:"));
    CHECK(digest(R"(, "retry": {"max_attempts": 9}, "budget": {"max_concurrent": 2}, "seal_at": 0.5)") == plain);
    CHECK(digest(R"(, "seed": 0, "repeat": 1)") == plain);
    CHECK(digest(R"(, "seed": 1)") != plain);
    CHECK(digest(R"(, "axes": {"model": ["a"]})") != plain);
}

TEST_CASE("the sweep file's schema and its loader agree") {
    const workspace here;
    const auto schema = sweep_file_schema();
    const auto check = [&](const std::string& text, bool good) {
        INFO(text);
        INFO(test::schema_violation(schema, json::parse(text)));
        CHECK(test::schema_violation(schema, json::parse(text)).empty() == good);
        CHECK(here.error_of(text).empty() == good);
    };
    check(every_key, true);
    check(R"({"name": "s", "base": {"environment": "hello"}, "seal_at": null, "stop": {"max_errors": null}})", true);
    check(R"({"name": "s", "base": {}, "axes": {"environment": ["hello", "other"]}})", true);
    check(R"({"name": "", "base": {"environment": "hello"}})", false);
    check(R"({"name": "s", "base": ""})", false);
    check(R"({"name": "s", "base": {"environment": "hello", "seed": 1}})", false);
    check(R"({"name": "s", "base": {"environment": "hello", "modle": ""}})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "axes": {"model": "a"}})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "axes": {"model": []}})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "include": {}})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "include": [1]})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "retry": {"on": ["budget"]}})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "deadlines": {"run_s": 0}})", false);
    check(R"({"name": "s", "base": {"environment": "hello"}, "breaker": {"scope": "node"}})", false);
}

TEST_CASE("every key of a sweep file has a sentence, and a default that passes its own check") {
    for (const auto& row : sweep_file_keys()) {
        INFO(row.spec.path);
        CHECK(row.spec.doc.ends_with('.'));
        if (!row.spec.required && row.get != nullptr) {
            CHECK(check_value(row.spec, row.get(sweep_file{})).empty());
        }
    }
}

TEST_CASE("the reference has the table of keys of a sweep file that the code has") {
    const auto page = read_file(CHALK_SOURCE_DIR "/docs/reference/sweep-file.md", 1_MiB);
    REQUIRE(page);
    INFO(sweep_file_markdown());
    CHECK(page->find("\n\n" + sweep_file_markdown() + "\n") != std::string::npos);
}
