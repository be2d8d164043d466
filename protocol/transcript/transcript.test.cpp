#include "protocol/transcript/transcript.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace chalk;
using namespace std::chrono_literals;

namespace {

const wall_time noon = std::chrono::sys_days(std::chrono::year(2026) / 1 / 31) + 12h;

/// Feeds a builder, one second an event, and looks at the document after each against the schema.
class recorded_run {
  public:
    recorded_run() : builder_(header()) {}

    recorded_run& add(event_body body) {
        ++seq_;
        builder_.add(std::make_shared<const event>(event{seq_, noon + seconds(seq_), std::move(body)}));
        const auto checked = check_transcript(builder_.document());
        CHECK(checked);
        return *this;
    }
    recorded_run& score(std::size_t step, double points, bool go_on = true) {
        return add(step_scored{step, points, go_on, "because", json{{"passed", 3}}, false});
    }
    recorded_run& start(std::size_t steps) { return add(task_started{"hello", "builtin", "m", {"bash"}, steps}); }

    [[nodiscard]] json document() const { return builder_.document(); }
    [[nodiscard]] std::optional<double> score() const { return builder_.score(); }

    static transcript_header header() {
        transcript_header h;
        h.run_id = "try-1";
        h.environment = "/environments/hello";
        h.environment_digest = "sha256:" + std::string(64, 'a');
        h.agent = "builtin";
        h.model = "m";
        h.runtime = "namespaces";
        h.chalk_version = "0.1.0";
        h.config = json::object();
        return h;
    }

  private:
    transcript_builder builder_;
    std::uint64_t seq_ = 0;
};

message_added spoken(std::string text, std::vector<tool_call> calls = {}) {
    message_added m;
    m.role = message_role::assistant;
    m.text = std::move(text);
    m.tool_calls = std::move(calls);
    m.usage = token_usage{10, 4, 3, 1};
    m.duration = 5ms;
    return m;
}

} // namespace

TEST_CASE("an aborted turn's tokens are spent, and it counts neither as a turn nor for its calls") {
    recorded_run run;
    auto half = spoken("ha", {{"c1", "bash", json("{\"comm")}});
    half.aborted = true;
    run.start(1).add(step_started{0, "first", "Do it."}).add(half).add(half).add(spoken("done"));
    const auto document = run.document();
    CHECK(document["steps"][0]["turns"] == 1);
    CHECK(document["steps"][0]["tool_calls"] == 0);
    CHECK(document["usage"]["input"] == 30);
    CHECK(document["usage"]["output"] == 9);
}

TEST_CASE("a whole run folds into its steps, score, usage and times") {
    recorded_run run;
    run.start(2)
        .add(task_pre_hook_completed{json{{"seed", 1}}})
        .add(step_started{0, "first", "Do it."})
        .add(spoken("on it", {{"c1", "bash", json{{"command", "ls"}}}}))
        .add(tool_result{"c1", "bash", "a\xff", false, false, 3ms})
        .add(spoken("done"))
        .add(artifact_saved{0, "a.txt", 12})
        .score(0, 0.5)
        .add(step_completed{0, 77ms})
        .add(step_started{1, "second", "Again."})
        .add(spoken("done again"))
        .add(limit_reached{limit_kind::turns, 1, "1 turn"})
        .score(1, 1)
        .add(step_completed{1, 5ms})
        .add(task_completed{outcome_status::passed});
    const auto document = run.document();
    CHECK(document["run"]["task"] == "hello");
    CHECK(document["outcome"] == json{{"status", "passed"}, {"error", nullptr}, {"reason", nullptr}});
    CHECK(document["score"] == 0.75);
    REQUIRE(document["steps"].size() == 2);
    const auto& first = document["steps"][0];
    CHECK(first["name"] == "first");
    CHECK(first["score"] == 0.5);
    CHECK(first["explanation"] == "because");
    CHECK(first["metadata"] == json{{"passed", 3}});
    CHECK(first["turns"] == 2);
    CHECK(first["tool_calls"] == 1);
    CHECK(first["duration_ms"] == 77);
    CHECK(first["artifacts"] == json::array({{{"path", "a.txt"}, {"size", 12}}}));
    CHECK(document["usage"] == json{{"input", 30}, {"cached", 12}, {"output", 9}, {"reasoning", 3}});
    CHECK(document["started"] == "2026-01-31T12:00:01.000Z");
    CHECK(document["ended"] == "2026-01-31T12:00:15.000Z");
    CHECK(document["duration_ms"] == 14'000);
    CHECK(document["events"].size() == 15);
}

TEST_CASE("a transcript is valid before anything happened and between any two events") {
    recorded_run run;
    CHECK(check_transcript(run.document()));
    CHECK(run.document()["outcome"].is_null());
    CHECK(run.score() == std::nullopt);
    run.start(2).add(step_started{0, "first", ""});
    CHECK(run.document()["steps"][0]["score"].is_null());
    CHECK(run.document()["ended"].is_null());
}

TEST_CASE("a step that was skipped counts as 0") {
    recorded_run run;
    run.start(4).add(step_started{0, "first", ""}).score(0, 1, false).add(task_completed{outcome_status::failed});
    CHECK(run.score() == 0.25);
    CHECK(run.document()["outcome"]["status"] == "failed");
}

TEST_CASE("an error is never a score") {
    recorded_run run;
    run.start(1).add(step_started{0, "first", ""}).score(0, 1);
    CHECK(run.score() == 1.0);
    run.add(run_failed{error_class::task, "post_hook raised", "Traceback\xff"});
    CHECK(run.score() == std::nullopt);
    CHECK(run.document()["score"].is_null());
    CHECK(run.document()["outcome"]["error"] ==
          json{{"class", "task"}, {"message", "post_hook raised"}, {"details", "Traceback\xef\xbf\xbd"}});
}

TEST_CASE("a cancelled run says why and has no score") {
    recorded_run run;
    run.start(1).score(0, 1).add(run_cancelled{"Ctrl-C"}).add(log_line{log_level::info, "chalk", "kept"});
    CHECK(run.score() == std::nullopt);
    CHECK(run.document()["outcome"] == json{{"status", "cancelled"}, {"error", nullptr}, {"reason", "Ctrl-C"}});
}

TEST_CASE("events that speak of a step that never started do not break the fold") {
    recorded_run run;
    run.score(5'000'000'000, 1).add(artifact_saved{7, "x", 1});
    CHECK(run.document()["steps"].size() == 2);
    CHECK(run.score() == 0.5);
}

TEST_CASE("the schema refuses what is no transcript") {
    recorded_run run;
    run.start(1).add(step_started{0, "first", ""}).score(0, 1).add(task_completed{outcome_status::passed});
    const auto good = run.document();
    const auto schema = json::parse(transcript_schema());
    CHECK(test::schema_violation(schema, good).empty());
    const auto broken = [&](auto&& breaking) {
        auto document = good;
        breaking(document);
        CHECK_FALSE(test::schema_violation(schema, document).empty());
        CHECK_FALSE(check_transcript(document));
    };
    broken([](json& d) { d["version"] = 2; });
    broken([](json& d) { d["format"] = "other"; });
    broken([](json& d) { d["extra"] = 1; });
    broken([](json& d) { d.erase("usage"); });
    broken([](json& d) { d["run"].erase("run_id"); });
    broken([](json& d) { d["outcome"]["status"] = "error"; });
    broken([](json& d) { d["outcome"]["reason"] = "x"; });
    broken([](json& d) { d["steps"][0]["score"] = "1"; });
    broken([](json& d) { d["steps"][0]["more"] = 1; });
    broken([](json& d) { d["started"] = "yesterday"; });
    broken([](json& d) { d["events"][0]["type"] = "OtherEvent"; });
    broken([](json& d) { d["events"][0].erase("tools"); });
    broken([](json& d) { d["events"] = json::object(); });
    broken([](json& d) { d = json::array(); });
}

TEST_CASE("a transcript is read from its file, and a broken file is named with its place") {
    const test::temporary_folder folder;
    recorded_run run;
    run.start(1).add(task_completed{outcome_status::passed});
    const auto file = folder.write("t.json", dump_json(run.document(), 2));
    CHECK(read_transcript(file).value() == run.document());

    const auto error_of = [&](std::string_view text) {
        auto read = read_transcript(folder.write("broken.json", text));
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::config);
        return read.error().message;
    };
    CHECK(error_of("{\n\n\"format\": ").find("broken.json:3: ") != std::string::npos);
    CHECK(error_of("{}").find("is no transcript") != std::string::npos);
    CHECK(error_of("[]").find("is no transcript") != std::string::npos);
    auto document = run.document();
    document["events"][0]["task"] = 7;
    CHECK(error_of(dump_json(document)).find("events[0]: broken event: TaskStartedEvent: field \"task\"") !=
          std::string::npos);
    document = run.document();
    document["score"] = "high";
    CHECK(error_of(dump_json(document)).find("score") != std::string::npos);
}

TEST_CASE("the reference names every field and every event of a transcript") {
    const auto page = read_file(CHALK_SOURCE_DIR "/docs/reference/transcript.md", 1_MiB);
    REQUIRE(page);
    const auto schema = json::parse(transcript_schema());
    const auto check = [&](const std::string& name) {
        INFO(name);
        CHECK(page->find("`" + name + "`") != std::string::npos);
    };
    for (const auto& [name, value] : schema["properties"].items()) {
        check(name);
    }
    for (const auto& [name, definition] : schema["definitions"].items()) {
        if (!definition.contains("properties")) {
            continue;
        }
        if (definition["properties"].contains("type")) {
            check(name);
        }
        for (const auto& [field, value] : definition["properties"].items()) {
            check(field);
        }
    }
}
