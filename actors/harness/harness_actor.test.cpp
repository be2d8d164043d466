/// Whole harnesses over the no-op environment, on a scheduler and an io context that the test drives by hand.
#include "actors/harness/agent_actor.hpp"
#include "actors/harness/interfaces.hpp"
#include "actors/messages.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <caf/scheduler/test_coordinator.hpp>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

struct testing_config : caf::actor_system_config {
    testing_config() {
        add_message_types<caf::id_block::chalk>();
        set("scheduler.policy", caf::atom("testing"));
    }
};

struct seen {
    std::vector<event_ptr> events;
    int prepared = 0;

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& e : events) {
            all.emplace_back(type_name(e->body));
        }
        return all;
    }
    template<class Body>
    const Body& only() const {
        const Body* found = nullptr;
        for (const auto& e : events) {
            if (const auto* body = std::get_if<Body>(&e->body)) {
                REQUIRE(found == nullptr);
                found = body;
            }
        }
        REQUIRE(found != nullptr);
        return *found;
    }
};

/// Keeps what a harness tells its sink.
class collector : public event_sink::base {
  public:
    collector(caf::actor_config& cfg, seen* into) : event_sink::base(cfg), into_(into) {}
    behavior_type make_behavior() override {
        return {[this](const events_recorded& m) {
                    into_->events.insert(into_->events.end(), m.events.begin(), m.events.end());
                },
                [this](const run_prepared&) { ++into_->prepared; }};
    }

  private:
    seen* into_;
};

struct stage {
    testing_config config;
    boost::asio::io_context io{1};
    caf::actor_system system{config};
    caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
    seen heard;
    event_sink sink = system.spawn<collector>(&heard);
    caf::scoped_actor owner{system};
    harness_actor harness;

    ~stage() {
        caf::anon_send_exit(sink, caf::exit_reason::user_shutdown);
        if (harness) {
            caf::anon_send_exit(harness, caf::exit_reason::kill);
        }
        harness = nullptr;
        settle();
    }

    /// Until neither actors nor the io context have anything to do.
    void settle() {
        for (;;) {
            auto steps = scheduler.run();
            io.restart();
            steps += io.poll();
            if (steps == 0) {
                return;
            }
        }
    }

    void start(config::run_config run, bool prepare_only = false) {
        harness_options options;
        options.config = std::move(run);
        options.prepare_only = prepare_only;
        options.confinement_note = "none";
        harness = spawn_harness(owner.ptr(), io, std::move(options), sink);
        owner->monitor(harness);
        settle();
    }

    /// The reason that the harness quit for; fails when it did not.
    caf::error end() {
        caf::error reason;
        bool down = false;
        owner->receive([&](caf::down_msg& m) { down = true, reason = m.reason; }, caf::after(0s) >> [] {});
        REQUIRE(down);
        return reason;
    }
};

config::run_config noop_run(const char* script, std::size_t steps = 1) {
    config::run_config run;
    run.id = *run_id::parse("harness-test");
    run.environment = "builtin:noop";
    run.task_args = {{"steps", steps}};
    run.use_fake_model = true;
    run.fake.script = json::parse(script);
    return run;
}

} // namespace

TEST_CASE("a run of the no-op environment goes through all its events and the harness quits normally", "[harness]") {
    stage s;
    s.start(noop_run(R"([[{"text":"a"}],[{"text":"b"}]])", 2));
    CHECK(s.heard.names() ==
          std::vector<std::string>{"TaskStartedEvent", "LogEvent", "TaskPreHookCompletedEvent", "StepStartedEvent",
                                   "MessageEvent", "MessageEvent", "AgentCompletedEvent", "ScoringEvent",
                                   "StepCompletedEvent", "StepStartedEvent", "MessageEvent", "MessageEvent",
                                   "AgentCompletedEvent", "ScoringEvent", "StepCompletedEvent", "TaskCompletedEvent"});
    for (std::size_t i = 0; i < s.heard.events.size(); ++i) {
        CHECK(s.heard.events[i]->seq == i + 1);
    }
    CHECK(s.heard.only<task_completed>().status == outcome_status::passed);
    CHECK(s.heard.only<task_started>().tools == std::vector<std::string>{"echo"});
    CHECK_FALSE(s.end());
}

TEST_CASE("the agent's tool calls reach the environment and their results come back", "[harness]") {
    stage s;
    s.start(noop_run(R"([[{"tool_calls":[{"name":"echo","arguments":{"text":"hi"}}]},{"text":"done"}]])"));
    const auto& result = s.heard.only<tool_result>();
    CHECK(result.name == "echo");
    CHECK(result.text == "hi");
    CHECK_FALSE(result.is_error);
    CHECK(s.heard.only<task_completed>().status == outcome_status::passed);
}

TEST_CASE("a call of a tool that is not there, or with the wrong arguments, is an error result and the run goes on",
          "[harness]") {
    const auto* script = GENERATE(R"([[{"tool_calls":[{"name":"ecko","arguments":{}}]},{"text":"done"}]])",
                                  R"([[{"tool_calls":[{"name":"echo","arguments":{"text":3}}]},{"text":"done"}]])");
    stage s;
    s.start(noop_run(script));
    const auto& result = s.heard.only<tool_result>();
    CHECK(result.is_error);
    CHECK_THAT(result.text, Catch::Matchers::Contains("echo") || Catch::Matchers::Contains("text"));
    CHECK(s.heard.only<task_completed>().status == outcome_status::passed);
}

TEST_CASE("a script that ends too early is an error of class model", "[harness]") {
    stage s;
    s.start(noop_run(R"([[{"tool_calls":[{"name":"echo","arguments":{"text":"hi"}}]}]])"));
    const auto& failed = s.heard.only<run_failed>();
    CHECK(failed.kind == error_class::model);
    CHECK_THAT(failed.message, Catch::Matchers::Contains("turn 1") && Catch::Matchers::Contains("step 0"));
    CHECK(s.heard.names().back() == "ErrorEvent");
    CHECK_FALSE(s.end());
}

TEST_CASE("a limit on turns ends the step, which is judged as it stands", "[harness]") {
    stage s;
    auto run = noop_run(R"([[{"tool_calls":[{"name":"echo","arguments":{"text":"hi"}}]}]])");
    run.limit.max_turns = 1;
    s.start(run);
    CHECK(s.heard.only<limit_reached>().limit == limit_kind::turns);
    CHECK(s.heard.only<step_scored>().score == 1);
    CHECK(s.heard.only<task_completed>().status == outcome_status::passed);
}

TEST_CASE("what the config alone makes impossible is an error of class config before anything starts", "[harness]") {
    stage s;
    auto run = noop_run("[]");
    SECTION("an unknown agent") {
        run.agent = "nobody";
        s.start(run);
        CHECK_THAT(s.heard.only<run_failed>().message, Catch::Matchers::Contains("builtin"));
    }
    SECTION("a real model") {
        run.use_fake_model = false;
        run.model = "provider/model";
        s.start(run);
        CHECK_THAT(s.heard.only<run_failed>().message, Catch::Matchers::Contains("use_fake_model"));
    }
    CHECK(s.heard.only<run_failed>().kind == error_class::config);
    CHECK(s.heard.events.size() == 1);
    CHECK_FALSE(s.end());
}

TEST_CASE("an error of the environment is an error of class task", "[harness]") {
    stage s;
    auto run = noop_run("[]");
    run.task = "other";
    s.start(run);
    CHECK(s.heard.only<run_failed>().kind == error_class::task);
    CHECK_THAT(s.heard.only<run_failed>().message, Catch::Matchers::Contains("load_task"));
}

TEST_CASE("a tool server that cannot bind is an error of class config", "[harness]") {
    stage s;
    auto run = noop_run("[]");
    run.mcp.host = "192.0.2.1"; // of a block that no machine has
    s.start(run);
    CHECK(s.heard.only<run_failed>().kind == error_class::config);
    CHECK_FALSE(s.end());
}

TEST_CASE("an external agent's message that does not come in time is an error of class timeout", "[harness]") {
    namespace asio = boost::asio;
    using asio::local::stream_protocol;
    stage s;
    const test::temporary_folder folder;
    const auto where = (folder.path() / "gateway.sock").string();
    stream_protocol::acceptor gateway(s.io, stream_protocol::endpoint(where));
    std::optional<stream_protocol::socket> asked; // and never answered
    gateway.async_accept([&](const boost::system::error_code& failed, stream_protocol::socket from) {
        if (!failed) {
            asked.emplace(std::move(from));
        }
    });
    harness_options options;
    options.config = noop_run("[]");
    options.config.use_fake_model = false;
    options.config.agent = "external";
    options.config.backend_uri = "http://127.0.0.1:1/";
    options.gateway_socket = where;
    options.external_message = 100ms;
    s.harness = spawn_harness(s.owner.ptr(), s.io, std::move(options), s.sink);
    s.owner->monitor(s.harness);
    s.settle();
    while (s.heard.names().empty() || s.heard.names().back() != "ErrorEvent") {
        s.io.restart();
        REQUIRE(s.io.run_one_for(20s) != 0);
        s.settle();
    }
    CHECK(asked);
    const auto& failed = s.heard.only<run_failed>();
    CHECK(failed.kind == error_class::timeout);
    CHECK_THAT(failed.message, Catch::Matchers::Contains("external agent, step 0, turn 0"));
    CHECK_FALSE(s.end());
}

TEST_CASE("a cancelled run ends in order while its model has not answered", "[harness]") {
    stage s;
    auto run = noop_run(R"([[{"text":"late"}]])");
    run.fake.latency = 1h - 30min - 1min;
    s.start(run);
    CHECK(s.heard.names().back() == "MessageEvent");
    caf::anon_send(s.harness, cancel_run{"Ctrl-C"});
    s.settle();
    CHECK(s.heard.names().back() == "RunCancelledEvent");
    CHECK(s.heard.only<run_cancelled>().reason == "Ctrl-C");
    CHECK_FALSE(s.end());
}

TEST_CASE("a harness that is killed takes everything below it along", "[harness]") {
    stage s;
    auto run = noop_run(R"([[{"text":"late"}]])");
    run.fake.latency = 10min;
    const auto before = s.system.registry().running();
    s.start(run);
    CHECK(s.system.registry().running() > before);
    caf::anon_send_exit(s.harness, GENERATE(caf::exit_reason::kill, caf::exit_reason::user_shutdown));
    s.settle();
    CHECK(s.end());
    CHECK(s.system.registry().running() == before);
}

TEST_CASE("a sink that cannot keep up holds the agent between turns", "[harness]") {
    stage s;
    auto run = noop_run(R"([[{"tool_calls":[{"name":"echo","arguments":{"text":"hi"}}]},{"text":"done"}]])");
    harness_options options;
    options.config = run;
    s.harness = spawn_harness(s.owner.ptr(), s.io, options, s.sink);
    s.owner->monitor(s.harness);
    // Up to the agent's first turn, whose answer waits in the io context.
    while (s.heard.names().empty() || s.heard.names().back() != "MessageEvent") {
        if (!s.scheduler.try_run_once()) {
            s.io.restart();
            REQUIRE(s.io.poll_one() != 0);
        }
    }
    caf::anon_send(s.harness, event_flow{false});
    s.settle();
    CHECK(s.heard.names().back() == "ToolResultEvent");
    caf::anon_send(s.harness, event_flow{true});
    s.settle();
    CHECK(s.heard.only<task_completed>().status == outcome_status::passed);
}

TEST_CASE("a prepared run says so, leaves its mark, and waits to be cancelled", "[harness]") {
    stage s;
    const std::filesystem::path mark = "/tmp/chalk_prepared_harness-test";
    s.start(noop_run("[]"), true);
    CHECK(s.heard.prepared == 1);
    CHECK(std::filesystem::exists(mark));
    CHECK(s.heard.names().back() == "TaskPreHookCompletedEvent");
    caf::anon_send(s.harness, cancel_run{"enough"});
    s.settle();
    CHECK(s.heard.names().back() == "RunCancelledEvent");
    CHECK_FALSE(std::filesystem::exists(mark));
    CHECK_FALSE(s.end());
}

namespace {

/// A model whose turns the test gives, when it wants to.
class hand_model : public model::model {
  public:
    void next_turn(chalk::model::request, std::function<void(chalk::model::turn_result)> done) override {
        asked = std::move(done);
    }
    std::function<void(chalk::model::turn_result)> asked;
};

struct agent_heard {
    std::vector<event_body> events;
    int finished = 0;
    std::optional<failure> failed;
};

class agent_watcher : public agent_owner::base {
  public:
    agent_watcher(caf::actor_config& cfg, agent_heard* into) : agent_owner::base(cfg), into_(into) {}
    behavior_type make_behavior() override {
        return {[this](const agent_did& m) { into_->events.push_back(m.body); },
                [this](const agent_finished_step&) { ++into_->finished; },
                [this](const agent_failed& m) { into_->failed = m.why; }};
    }

  private:
    agent_heard* into_;
};

class no_tools : public tool_server_actor::base {
  public:
    using tool_server_actor::base::base;
    behavior_type make_behavior() override {
        return {
            [](const register_tools&) {},
            [this](const call_tool& m) {
                send(m.reply_to, tool_finished{m.call.id, {{{{"type", "text"}, {"text", "ok"}}}, false, false}, 1ms});
            },
            [](const tool_requested&) {},
            [](const tool_request_dropped&) {},
            [](const builtin_tool_finished&) {},
            [](const environment_answered&) {},
            [](const open_tools&) {},
            [](const close_tools&) {},
            [](const student_stopped&) {}};
    }
};

} // namespace

TEST_CASE("a limit on time counts the actor system's clock", "[harness]") {
    stage s;
    agent_heard heard;
    auto watcher = s.system.spawn<agent_watcher>(&heard);
    auto tools = s.system.spawn<no_tools>();
    auto mind = std::make_shared<hand_model>();
    config::limits limits;
    limits.max_time = 60s;
    auto agent = spawn_agent(s.owner.ptr(), {.name = "builtin", .limits = limits, .mind = mind, .spending = nullptr},
                             tools, watcher);
    caf::anon_send(agent, work_on_step{0, {}});
    model::turn calling;
    calling.tool_calls = {{"1", "t", json::object()}};
    for (int turn = 0; turn < 2; ++turn) {
        s.settle();
        REQUIRE(mind->asked);
        s.scheduler.clock().advance_time(30s);
        std::exchange(mind->asked, nullptr)(calling);
    }
    s.settle();
    CHECK_FALSE(mind->asked);
    CHECK(heard.finished == 1);
    REQUIRE(heard.events.size() == 5);
    CHECK(std::get<message_added>(heard.events[0]).duration == 30s);
    const auto& limit = std::get<limit_reached>(heard.events.back());
    CHECK(limit.limit == limit_kind::time);
    CHECK(limit.value == 60'000);
    for (const auto& one : {caf::actor_cast<caf::actor>(agent), caf::actor_cast<caf::actor>(watcher),
                            caf::actor_cast<caf::actor>(tools)}) {
        caf::anon_send_exit(one, caf::exit_reason::kill);
    }
}
