/// Turns that did not come, and what the agent's loop makes of it.
#include "actors/harness/agent_loop.test.hpp"

using namespace chalk;
using namespace chalk::test;
using namespace std::chrono_literals;

TEST_CASE("a turn whose stream broke is recorded, asked for again and counted once", "[agent]") {
    agent_loop loop({});
    loop.hear(message_role::user, "go");
    (void)loop.begin_step(0, t0);
    for (int i = 0; i < 3; ++i) {
        auto next = loop.on_failed_turn(broken_stream(), 7ms, t0);
        REQUIRE(next.size() == 2);
        const auto& said = std::get<message_added>(at<agent_loop::record>(next, 0).body);
        CHECK(said.aborted);
        CHECK(said.text == "half");
        CHECK(said.usage->input == 30);
        CHECK(said.duration == 7ms);
        CHECK(at<agent_loop::ask_model>(next, 1).turn == 0);
        CHECK(loop.messages()->size() == 1);
    }
    at<agent_loop::finish_step>(loop.on_turn(text_turn("done"), 0ms, t0), 1);
    // A turn that came whole starts the row anew.
    (void)loop.begin_step(1, t0);
    at<agent_loop::ask_model>(loop.on_failed_turn(broken_stream(), 0ms, t0), 1);
}

TEST_CASE("a fourth stream in a row that broke is an error of the model", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    for (int i = 0; i < 3; ++i) {
        (void)loop.on_failed_turn(broken_stream(), 0ms, t0);
    }
    auto next = loop.on_failed_turn(broken_stream(), 0ms, t0);
    REQUIRE(next.size() == 2);
    CHECK(std::get<message_added>(at<agent_loop::record>(next, 0).body).aborted);
    CHECK(at<agent_loop::fail>(next, 1).why.kind == error_class::model);
}

TEST_CASE("a refused request fails the run at once, and nothing of it is recorded as said", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    auto next = loop.on_failed_turn({model_failure("HTTP 401")}, 0ms, t0);
    REQUIRE(next.size() == 1);
    CHECK(at<agent_loop::fail>(next, 0).why.message == "HTTP 401");
}

TEST_CASE("a conversation that is too long for the model ends the step like the limit on context", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    SECTION("by a refused request") {
        auto next = loop.on_failed_turn({model_failure("too long"), failed_turn::what::context_overflow}, 0ms, t0);
        REQUIRE(next.size() == 2);
        CHECK(std::get<limit_reached>(at<agent_loop::record>(next, 0).body).limit == limit_kind::context_tokens);
        at<agent_loop::finish_step>(next, 1);
    }
    SECTION("by a turn that was cut off, whose calls are not made") {
        auto turn = calling({"a"});
        turn.stopped = model::stop_reason::context;
        auto next = loop.on_turn(turn, 0ms, t0);
        REQUIRE(next.size() == 3);
        CHECK(std::get<limit_reached>(at<agent_loop::record>(next, 1).body).limit == limit_kind::context_tokens);
        at<agent_loop::finish_step>(next, 2);
        CHECK(loop.messages()->back().tool_calls.empty());
    }
}

TEST_CASE("a budget that the gateway says is spent ends the step like a limit", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    (void)loop.on_failed_turn(broken_stream(), 0ms, t0);
    auto kind = failed_turn::what::token_budget;
    auto limited = limit_kind::total_tokens;
    std::uint64_t value = 40;
    SECTION("of tokens") {}
    SECTION("of dollars") {
        kind = failed_turn::what::usd_budget;
        limited = limit_kind::usd;
        value = 1'250'000;
    }
    loop.on_spent(1.25);
    auto next = loop.on_failed_turn({model_failure("spent"), kind}, 0ms, t0);
    REQUIRE(next.size() == 2);
    const auto& limit = std::get<limit_reached>(at<agent_loop::record>(next, 0).body);
    CHECK(limit.limit == limited);
    CHECK(limit.value == value);
    at<agent_loop::finish_step>(next, 1);
}
