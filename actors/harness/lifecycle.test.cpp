#include "actors/harness/lifecycle.hpp"

#include "tests/support/catch.hpp"

#include <deque>

using namespace chalk;
using namespace chalk::actors::lifecycle;
using namespace std::chrono_literals;

namespace {

std::string describe(const command& what) {
    struct {
        std::string operator()(const load_task&) { return "load_task"; }
        std::string operator()(const listen_for_tools&) { return "listen_for_tools"; }
        std::string operator()(const configure_tools&) { return "configure_tools"; }
        std::string operator()(const register_tools&) { return "register_tools"; }
        std::string operator()(const record& r) { return std::string(type_name(r.body)); }
        std::string operator()(const call_pre_hook&) { return "pre_hook"; }
        std::string operator()(const ask_system_prompt&) { return "system_prompt"; }
        std::string operator()(const add_message& m) {
            return (m.role == message_role::system ? "system: " : "user: ") + m.text;
        }
        std::string operator()(const announce_prepared&) { return "prepared"; }
        std::string operator()(const begin_step& s) { return "begin " + std::to_string(s.index); }
        std::string operator()(const let_agent_work& s) { return "work " + std::to_string(s.index); }
        std::string operator()(const stop_student&) { return "stop"; }
        std::string operator()(const save_artifacts& s) { return "save " + std::to_string(s.index); }
        std::string operator()(const call_pre_scoring_hook& s) { return "pre_scoring " + std::to_string(s.index); }
        std::string operator()(const call_judge& s) { return "judge " + std::to_string(s.index); }
        std::string operator()(const call_post_hook& s) { return "post_hook " + std::to_string(s.index); }
        std::string operator()(const finish& f) { return f.orderly ? "finish" : "kill"; }
    } names;
    return std::visit(names, what);
}

/// Answers every command as a well-behaved environment and agent would; a test puts its own facts in their place.
struct world {
    settings with{"builtin", "m", false, false, true, json::object(), "caps"};
    std::size_t steps = 2;
    std::optional<std::string> prompt = "be good";
    std::vector<judged> verdicts{{0.5, true, "", nullptr}, {1, true, "", nullptr}};
    /// Before the command of this name is answered, this fact comes in its answer's place.
    std::string at;
    std::optional<fact> instead;

    std::vector<std::string> trace;
    std::vector<event_body> events;
    std::deque<command> open;

    std::optional<fact> answer(const command& c) {
        if (std::holds_alternative<load_task>(c)) {
            std::vector<std::string> names;
            for (std::size_t i = 0; i < steps; ++i) {
                names.push_back("s" + std::to_string(i));
            }
            return task_loaded{"t", names};
        }
        if (std::holds_alternative<listen_for_tools>(c)) {
            return tools_listening{};
        }
        if (std::holds_alternative<configure_tools>(c)) {
            return tools_configured{json::array({"x"}), {"bash"}};
        }
        if (const auto* tools = std::get_if<register_tools>(&c)) {
            CHECK(tools->tools == json::array({"x"}));
            CHECK(tools->builtin == std::vector<std::string>{"bash"});
            return tools_registered{{"x", "bash"}};
        }
        if (std::holds_alternative<call_pre_hook>(c)) {
            return pre_hook_returned{{{"k", 1}}};
        }
        if (std::holds_alternative<ask_system_prompt>(c)) {
            return system_prompt_given{prompt};
        }
        if (const auto* step = std::get_if<begin_step>(&c)) {
            return step_begun{"do " + std::to_string(step->index), json::object()};
        }
        if (std::holds_alternative<let_agent_work>(c)) {
            return agent_finished{};
        }
        if (std::holds_alternative<stop_student>(c)) {
            return student_stopped{};
        }
        if (std::holds_alternative<save_artifacts>(c)) {
            return artifacts_saved{};
        }
        if (std::holds_alternative<call_pre_scoring_hook>(c)) {
            return pre_scoring_returned{};
        }
        if (const auto* step = std::get_if<call_judge>(&c)) {
            return verdicts.at(step->index);
        }
        if (std::holds_alternative<call_post_hook>(c)) {
            return post_hook_returned{};
        }
        return std::nullopt;
    }

    void take(commands all) {
        for (auto& c : all) {
            trace.push_back(describe(c));
            if (const auto* r = std::get_if<record>(&c)) {
                events.push_back(r->body);
            }
            open.push_back(std::move(c));
        }
    }

    machine run() {
        machine m(with);
        time_point now{};
        take(m.start());
        while (!open.empty()) {
            const auto c = std::move(open.front());
            open.pop_front();
            now += 1s;
            if (instead && describe(c) == at) {
                take(m.handle(*std::exchange(instead, std::nullopt), now));
            } else if (auto f = answer(c)) {
                take(m.handle(std::move(*f), now));
            }
        }
        return m;
    }

    template<class Event>
    const Event& last() {
        REQUIRE_FALSE(events.empty());
        REQUIRE(std::holds_alternative<Event>(events.back()));
        return std::get<Event>(events.back());
    }
    template<class Event>
    const Event& first() {
        for (const auto& body : events) {
            if (const auto* found = std::get_if<Event>(&body)) {
                return *found;
            }
        }
        throw std::logic_error("there is no such event");
    }
};

const std::vector<std::string> all_questions = {"load_task",   "listen_for_tools", "configure_tools", "register_tools",
                                                "pre_hook",    "system_prompt",    "begin 0",         "work 0",
                                                "stop",        "save 0",           "pre_scoring 0",   "judge 0",
                                                "post_hook 0", "begin 1",          "work 1"};

} // namespace

TEST_CASE("a run goes through its parts in the documented order", "[lifecycle]") {
    world w;
    w.with.extra_config = {{"extra_artifact_paths", {"a.txt"}}};
    auto m = w.run();
    CHECK(m.ended());
    const std::vector<std::string> expected = {"load_task",
                                               "listen_for_tools",
                                               "configure_tools",
                                               "register_tools",
                                               "TaskStartedEvent",
                                               "LogEvent",
                                               "pre_hook",
                                               "TaskPreHookCompletedEvent",
                                               "system_prompt",
                                               "system: be good",
                                               "begin 0",
                                               "StepStartedEvent",
                                               "user: do 0",
                                               "work 0",
                                               "AgentCompletedEvent",
                                               "stop",
                                               "save 0",
                                               "pre_scoring 0",
                                               "judge 0",
                                               "ScoringEvent",
                                               "post_hook 0",
                                               "StepCompletedEvent",
                                               "begin 1",
                                               "StepStartedEvent",
                                               "user: do 1",
                                               "work 1",
                                               "AgentCompletedEvent",
                                               "stop",
                                               "save 1",
                                               "pre_scoring 1",
                                               "judge 1",
                                               "ScoringEvent",
                                               "post_hook 1",
                                               "StepCompletedEvent",
                                               "TaskCompletedEvent",
                                               "finish"};
    CHECK(w.trace == expected);
    CHECK(w.last<task_completed>().status == outcome_status::passed);
    const auto& started = std::get<task_started>(w.events.front());
    CHECK(started.task == "t");
    CHECK(started.agent == "builtin");
    CHECK(started.tools == std::vector<std::string>{"x", "bash"});
    CHECK(started.step_count == 2);
    CHECK(std::get<log_line>(w.events[1]).text.find("caps") != std::string::npos);
    CHECK(std::get<task_pre_hook_completed>(w.events[2]).metadata == json{{"k", 1}});
}

TEST_CASE("no system message is added when the task has none or the agent sends its own", "[lifecycle]") {
    world none;
    none.prompt = std::nullopt;
    none.run();
    CHECK(std::count_if(none.trace.begin(), none.trace.end(),
                        [](const auto& line) { return line.starts_with("system: "); }) == 0);
    CHECK(std::count(none.trace.begin(), none.trace.end(), "system_prompt") == 1);

    world own;
    own.with.agent_sends_own_system_message = true;
    own.run();
    CHECK(std::count_if(own.trace.begin(), own.trace.end(),
                        [](const auto& line) { return line.starts_with("system"); }) == 0);
    CHECK(own.last<task_completed>().status == outcome_status::passed);
}

TEST_CASE("a judge that says not to continue ends the run as failed, after the step's post_hook", "[lifecycle]") {
    world w;
    w.verdicts[0] = {0.25, false, "wrong", {{"why", "x"}}};
    w.run();
    const std::vector<std::string> end(w.trace.end() - 5, w.trace.end());
    CHECK(end == std::vector<std::string>{"ScoringEvent", "post_hook 0", "StepCompletedEvent", "TaskCompletedEvent",
                                          "finish"});
    CHECK(w.last<task_completed>().status == outcome_status::failed);
    const auto& scored = w.first<step_scored>();
    CHECK(scored.score == 0.25);
    CHECK(scored.explanation == "wrong");
    CHECK_FALSE(scored.student_misbehaved);
}

TEST_CASE("a misbehaving student's step scores 0 and the task goes on", "[lifecycle]") {
    const auto* at = GENERATE("pre_scoring 0", "judge 0");
    world w;
    w.at = at;
    w.instead = trouble{task_failure("reached into the tests"), "", true};
    w.run();
    CHECK(w.last<task_completed>().status == outcome_status::passed);
    const auto& scored = w.first<step_scored>();
    CHECK(scored.score == 0);
    CHECK(scored.student_misbehaved);
    CHECK(scored.continue_task);
    CHECK(scored.explanation == "reached into the tests");
    CHECK(std::count(w.trace.begin(), w.trace.end(), "post_hook 0") == 1);
    CHECK(std::count(w.trace.begin(), w.trace.end(), "judge 1") == 1);
}

TEST_CASE("StudentMisbehaviorError anywhere else is an error of the task", "[lifecycle]") {
    for (const std::string at : {"pre_hook", "begin 0", "post_hook 0", "load_task"}) {
        world w;
        w.at = at;
        w.instead = trouble{task_failure("odd"), "tb", true};
        w.run();
        CHECK(w.last<run_failed>().kind == error_class::task);
        CHECK(w.last<run_failed>().details == "tb");
    }
}

TEST_CASE("trouble at any point ends the run at once with its class and details", "[lifecycle]") {
    for (const auto& at : all_questions) {
        INFO(at);
        world w;
        w.with.extra_config = {{"extra_artifact_paths", {"a"}}};
        w.at = at;
        w.instead = trouble{{error_class::timeout, "too slow"}, "where"};
        auto m = w.run();
        REQUIRE_FALSE(w.instead);
        CHECK(m.ended());
        CHECK(w.trace.back() == "kill");
        CHECK(w.trace[w.trace.size() - 3] == at);
        CHECK(w.last<run_failed>().kind == error_class::timeout);
        CHECK(w.last<run_failed>().message == "too slow");
        CHECK(w.last<run_failed>().details == "where");
    }
}

TEST_CASE("a cancelled run ends at once, at any point", "[lifecycle]") {
    for (const auto& at : all_questions) {
        INFO(at);
        world w;
        w.with.extra_config = {{"extra_artifact_paths", {"a"}}};
        w.at = at;
        w.instead = cancel_requested{"Ctrl-C"};
        auto m = w.run();
        REQUIRE_FALSE(w.instead);
        CHECK(m.ended());
        CHECK(w.trace.back() == "kill");
        CHECK(w.last<run_cancelled>().reason == "Ctrl-C");
    }
}

TEST_CASE("a fact that nothing asked for is an error of the harness", "[lifecycle]") {
    const std::vector<std::pair<std::string, fact>> answers = {{"load_task", task_loaded{"t", {}}},
                                                               {"listen_for_tools", tools_listening{}},
                                                               {"configure_tools", tools_configured{}},
                                                               {"register_tools", tools_registered{}},
                                                               {"pre_hook", pre_hook_returned{}},
                                                               {"system_prompt", system_prompt_given{}},
                                                               {"begin 0", step_begun{}},
                                                               {"work 0", agent_finished{}},
                                                               {"stop", student_stopped{}},
                                                               {"save 0", artifacts_saved{}},
                                                               {"pre_scoring 0", pre_scoring_returned{}},
                                                               {"judge 0", judged{}},
                                                               {"post_hook 0", post_hook_returned{}}};
    for (const auto& [at, right] : answers) {
        for (const auto& [other, wrong] : answers) {
            if (at == other) {
                continue;
            }
            INFO(at << " answered by the fact of " << other);
            world w;
            w.with.extra_config = {{"extra_artifact_paths", {"a"}}};
            w.at = at;
            w.instead = wrong;
            auto m = w.run();
            REQUIRE_FALSE(w.instead);
            CHECK(m.ended());
            CHECK(w.last<run_failed>().kind == error_class::harness);
        }
    }
}

TEST_CASE("facts that come after the end are ignored", "[lifecycle]") {
    world w;
    auto m = w.run();
    CHECK(m.handle(cancel_requested{"late"}, {}).empty());
    CHECK(m.handle(trouble{task_failure("late"), ""}, {}).empty());
    CHECK(m.handle(post_hook_returned{}, {}).empty());
}

TEST_CASE("a prepared run starts no step and waits to be cancelled", "[lifecycle]") {
    world w;
    w.with.prepare_only = true;
    auto m = w.run();
    CHECK_FALSE(m.ended());
    CHECK(w.trace.back() == "prepared");
    CHECK(w.trace[w.trace.size() - 2] == "system: be good");
    CHECK(m.handle(system_prompt_given{}, {}).size() == 2); // nothing asked for it: error and finish
    CHECK(m.ended());
}

TEST_CASE("a step's extra_config changes stay in force and null removes a key", "[lifecycle]") {
    world w;
    w.with.extra_config = {{"extra_artifact_paths", {"a"}}, {"keep", 1}};
    w.at = "begin 0";
    w.instead = step_begun{"x", {{"extra_artifact_paths", nullptr}, {"new", 2}}};
    auto m = w.run();
    CHECK(m.extra_config() == json{{"keep", 1}, {"new", 2}});
    CHECK(std::count(w.trace.begin(), w.trace.end(), "save 0") == 0);
    CHECK(std::count(w.trace.begin(), w.trace.end(), "save 1") == 0);
}

TEST_CASE("no artifact is asked for when the config says so", "[lifecycle]") {
    world w;
    w.with.extra_config = {{"extra_artifact_paths", {"a"}}};
    w.with.save_artifacts = false;
    w.run();
    CHECK(std::count(w.trace.begin(), w.trace.end(), "save 0") == 0);
    CHECK(w.last<task_completed>().status == outcome_status::passed);
}

TEST_CASE("what a step or judge must not say is an error of the task", "[lifecycle]") {
    auto kind_after = [](std::string at, fact f) {
        world w;
        w.at = std::move(at);
        w.instead = std::move(f);
        w.run();
        return w.last<run_failed>().kind;
    };
    CHECK(kind_after("begin 0", step_begun{"x", 3}) == error_class::task);
    CHECK(kind_after("begin 0", step_begun{"x", {{"extra_artifact_paths", "a"}}}) == error_class::task);
    CHECK(kind_after("begin 0", step_begun{"x", {{"extra_artifact_paths", {1}}}}) == error_class::task);
    CHECK(kind_after("judge 0", judged{std::nan(""), true, "", nullptr}) == error_class::task);
}

TEST_CASE("a task without steps passes with nothing scored", "[lifecycle]") {
    world w;
    w.steps = 0;
    w.run();
    CHECK(w.last<task_completed>().status == outcome_status::passed);
}

TEST_CASE("a step's duration is the time from its beginning to its post_hook's return", "[lifecycle]") {
    world w;
    w.steps = 1;
    w.run();
    const auto& completed = std::get<step_completed>(w.events[w.events.size() - 2]);
    CHECK(completed.duration > 0ms);
    CHECK(completed.duration < 20s);
}
