#include "protocol/event/event.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace std::chrono_literals;

namespace {

const wall_time noon = std::chrono::sys_days(std::chrono::year(2026) / 1 / 31) + 12h + 5ms;

/// One of each type, every field set to something that is not its default.
std::vector<event_body> one_of_each() {
    message_added spoken;
    spoken.role = message_role::assistant;
    spoken.text = "line\n\"quoted\" caf\xc3\xa9";
    spoken.reasoning = "because";
    spoken.tool_calls = {{"call_1", "bash", json{{"command", "ls"}}}, {"call_2", "submit", json::object()}};
    spoken.stop_reason = "tool_calls";
    spoken.usage = token_usage{1, 2, 3, 4};
    spoken.duration = 12ms;
    spoken.aborted = true;
    return {
        task_started{"hello", "builtin", "some-model", {"bash", "submit"}, 2},
        task_pre_hook_completed{json{{"seed", 7}}},
        step_started{1, "second", "Do it."},
        spoken,
        tool_result{"call_1", "bash", "out", true, true, 30ms},
        limit_reached{limit_kind::context_tokens, 4000, "too long"},
        agent_completed{1, milliseconds(80)},
        artifact_saved{1, "step_1/answer.txt", 42},
        step_scored{1, 0.25, false, "meh", json{{"passed", 1}}, true},
        step_completed{1, 99ms},
        task_completed{outcome_status::failed},
        run_failed{error_class::task, "judge raised", "Traceback ..."},
        run_cancelled{"Ctrl-C"},
        log_line{log_level::warning, "environment", "careful"},
    };
}

std::string error_of(std::string_view line) {
    auto parsed = parse_event(line);
    return parsed ? "" : parsed.error().message;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

const std::string scored_line = to_line({3, noon, step_scored{0, 1, true, "", json(), false}});

} // namespace

TEST_CASE("every type of event comes back from its line as it was") {
    REQUIRE(one_of_each().size() == std::variant_size_v<event_body>);
    std::uint64_t seq = 0;
    for (const auto& body : one_of_each()) {
        const event before{++seq, noon, body};
        INFO(to_line(before));
        CHECK(to_line(before).find('\n') == std::string::npos);
        CHECK(json::parse(to_line(before)) == to_json(before));
        auto after = parse_event(to_line(before));
        REQUIRE(after);
        CHECK(after->seq == before.seq);
        CHECK(after->time == before.time);
        CHECK(after->body.index() == body.index());
        CHECK(to_json(*after) == to_json(before));
    }
}

TEST_CASE("a default-constructed event of every type comes back, whatever is left out") {
    const auto check = [](const event_body& body) {
        const event before{1, noon, body};
        auto after = parse_event(to_line(before));
        INFO(to_line(before));
        REQUIRE(after);
        CHECK(to_json(*after) == to_json(before));
    };
    []<std::size_t... I>(std::index_sequence<I...>, const auto& each) {
        (each(event_body(std::in_place_index<I>)), ...);
    }
    (std::make_index_sequence<std::variant_size_v<event_body>>{}, check);
}

TEST_CASE("an event's line begins with its number, time and type") {
    CHECK(scored_line.starts_with(R"({"seq":3,"time":"2026-01-31T12:00:00.005Z","type":"ScoringEvent",)"));
}

TEST_CASE("fields without a value are left out of a message's line") {
    CHECK(to_line({1, noon, message_added{}}) ==
          R"({"seq":1,"time":"2026-01-31T12:00:00.005Z","type":"MessageEvent","role":"user","text":""})");
}

TEST_CASE("invalid UTF-8 in an event's text is replaced, on the line and in the value") {
    const event e{1, noon, tool_result{"c", "bash", "a\xff\xfe z", false, false, 0ms}};
    auto after = parse_event(to_line(e));
    REQUIRE(after);
    CHECK(std::get<tool_result>(after->body).text == "a\xef\xbf\xbd\xef\xbf\xbd z");
    CHECK(to_json(e) == to_json(*after));
}

TEST_CASE("a broken event names the field that is wrong") {
    CHECK(error_of(replaced(scored_line, "\"score\":1.0", "\"score\":\"1\"")).find("\"score\": expected a number") !=
          std::string::npos);
    CHECK(error_of(replaced(scored_line, "\"explanation\":\"\",", "")).find("\"explanation\" is missing") !=
          std::string::npos);
    CHECK(error_of(replaced(scored_line, "\"explanation\"", "\"explanatio\"")).find("\"explanation\" is missing") !=
          std::string::npos);
    CHECK(error_of(replaced(scored_line, "{", "{\"extra\":1,")).find("unknown field \"extra\"") != std::string::npos);
    CHECK(error_of(replaced(scored_line, "\"seq\":3", "\"seq\":-3")).find("\"seq\"") != std::string::npos);
    CHECK(error_of(replaced(scored_line, "2026-01-31", "2026-02-31")).find("\"time\"") != std::string::npos);
    CHECK(error_of(replaced(scored_line, "ScoringEvent", "ScoreEvent")).find("unknown type \"ScoreEvent\"") !=
          std::string::npos);
    CHECK(error_of(R"({"seq":1,"time":"2026-01-31T12:00:00.005Z"})").find("\"type\" is missing") != std::string::npos);
}

TEST_CASE("a broken part of a message is named with its place") {
    const auto line = to_line({1, noon, one_of_each().at(3)});
    CHECK(error_of(replaced(line, "\"name\":\"submit\"", "\"name\":7")).find("\"tool_calls[1].name\"") !=
          std::string::npos);
    CHECK(error_of(replaced(line, "\"cached\":2,", "")).find("\"usage.cached\" is missing") != std::string::npos);
    CHECK(error_of(replaced(line, "assistant", "robot")).find("system, user, assistant") != std::string::npos);
}

TEST_CASE("a task cannot complete with a status that has an event of its own") {
    const auto line = to_line({1, noon, task_completed{outcome_status::passed}});
    CHECK(error_of(replaced(line, "passed", "cancelled")).find("one of passed, failed") != std::string::npos);
}

TEST_CASE("what is no event at all is refused") {
    for (std::string_view bad : {"", "null", "[]", "{}", "{\"seq\":1", "\xff", "{} {}"}) {
        INFO(bad);
        CHECK_FALSE(error_of(bad).empty());
    }
    CHECK(error_of("{\"x\":" + std::string(100'000, '[')).find("deep") != std::string::npos);
}

TEST_CASE("final events stand for outcomes and others do not") {
    for (const auto& body : one_of_each()) {
        CHECK(is_final(body) == outcome_of(body).has_value());
    }
    CHECK(outcome_of(task_completed{outcome_status::passed}) == outcome::passed());
    CHECK(outcome_of(run_failed{error_class::model, "gone", "x"}) == outcome::error(error_class::model, "gone"));
    CHECK(outcome_of(run_cancelled{"Ctrl-C"}) == outcome::cancelled("Ctrl-C"));
}

TEST_CASE("a time keeps its milliseconds") {
    CHECK(format_time(noon) == "2026-01-31T12:00:00.005Z");
    CHECK(parse_time(format_time(noon)).value() == noon);
    const auto leap = std::chrono::sys_days(std::chrono::year(2024) / 2 / 29) + 23h + 59min + 59s + 999ms;
    CHECK(parse_time(format_time(leap)).value() == leap);
    CHECK(format_time(wall_time(-1ms)) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("what is no time is refused") {
    for (std::string_view bad : {"", "2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31 12:00:00.000Z",
                                 "2026-13-01T12:00:00.000Z", "2025-02-29T12:00:00.000Z", "2026-01-31T24:00:00.000Z",
                                 "9999-01-01T00:00:00.000Z", "2026-01-31T12:00:-1.000Z", "2026-01-31T12:00:00.000z"}) {
        INFO(bad);
        CHECK_FALSE(parse_time(bad));
    }
}
