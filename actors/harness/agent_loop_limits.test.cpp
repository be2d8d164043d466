/// Limits of a step and of a run, as the agent's loop keeps them.
#include "actors/harness/agent_loop.test.hpp"

using namespace chalk;
using namespace chalk::test;
using namespace std::chrono_literals;

TEST_CASE("a limit is looked at between turns: the step's tool calls run, then it ends", "[agent]") {
    config::limits limits;
    model::turn turn = calling({"a"});
    turn.usage.input = 90;
    turn.usage.output = 20;
    auto kind = limit_kind::turns;
    std::uint64_t value = 1;
    SECTION("turns") {
        limits.max_turns = 1;
    }
    SECTION("time") {
        limits.max_time = 60s;
        kind = limit_kind::time;
        value = 61'000;
    }
    SECTION("context") {
        limits.max_context_tokens = 110;
        kind = limit_kind::context_tokens;
        value = 110;
    }
    agent_loop loop(limits);
    at<agent_loop::ask_model>(loop.begin_step(0, t0), 0);
    at<agent_loop::call_tool>(loop.on_turn(turn, 0ms, t0 + 61s), 1);
    auto next = loop.on_tool_output(good, 0ms, t0 + 61s);
    REQUIRE(next.size() == 3);
    const auto& limit = std::get<limit_reached>(at<agent_loop::record>(next, 1).body);
    CHECK(limit.limit == kind);
    CHECK(limit.value == value);
    at<agent_loop::finish_step>(next, 2);
}

TEST_CASE("a limit that is not reached changes nothing, and turns and time are counted per step", "[agent]") {
    config::limits limits;
    limits.max_turns = 2;
    limits.max_time = 60s;
    limits.max_context_tokens = 1000;
    agent_loop loop(limits);
    for (std::size_t step = 0; step < 3; ++step) {
        const auto start = t0 + std::chrono::minutes(step * 2);
        (void)loop.begin_step(step, start);
        (void)loop.on_turn(calling({"a"}), 0ms, start);
        at<agent_loop::ask_model>(loop.on_tool_output(good, 0ms, start + 59s), 1);
        at<agent_loop::finish_step>(loop.on_turn(text_turn("x"), 0ms, start + 100s), 1);
    }
}

TEST_CASE("a limit also ends a row of empty turns", "[agent]") {
    config::limits limits;
    limits.max_turns = 2;
    agent_loop loop(limits);
    (void)loop.begin_step(0, t0);
    at<agent_loop::ask_model>(loop.on_turn(empty_turn(), 0ms, t0), 2);
    at<agent_loop::finish_step>(loop.on_turn(empty_turn(), 0ms, t0), 3);
}

TEST_CASE("dollars are limited in a step and in a run", "[agent]") {
    config::limits limits;
    std::size_t fine = 0;
    std::uint64_t value = 0;
    std::string whose;
    SECTION("of a step") {
        limits.max_usd = 0.5;
        value = 500'000;
        whose = "step 0: the limit of 0.5 USD is reached";
    }
    SECTION("of a step that stays below") {
        limits.max_usd = 0.51;
        fine = 3;
    }
    SECTION("of a run") {
        limits.run.max_usd = 1.2;
        value = 1'500'000;
        whose = "step 2: the run's limit of 1.2 USD is reached";
        fine = 2;
    }
    agent_loop loop(limits);
    CHECK(loop.limits_usd());
    std::size_t done = 0;
    for (bool goes_on = true; goes_on && done < 3;) {
        (void)loop.begin_step(done, t0);
        loop.on_spent(0.5 * static_cast<double>(done + 1));
        (void)loop.on_turn(calling({"a"}), 0ms, t0);
        auto next = loop.on_tool_output(good, 0ms, t0);
        goes_on = std::holds_alternative<agent_loop::ask_model>(next.back());
        if (goes_on) {
            (void)loop.on_turn(text_turn("done"), 0ms, t0);
            ++done;
        } else {
            const auto& limit = std::get<limit_reached>(at<agent_loop::record>(next, 1).body);
            CHECK(limit.limit == limit_kind::usd);
            CHECK(limit.value == value);
            CHECK(limit.message == whose);
            at<agent_loop::finish_step>(next, 2);
        }
    }
    CHECK(done == fine);
    CHECK_FALSE(agent_loop({}).limits_usd());
}

TEST_CASE("tokens and working time are limited in a step and in a run", "[agent]") {
    config::limits limits;
    auto kind = limit_kind::total_tokens;
    std::uint64_t value = 0;
    // Each step spends two turns of 40 tokens, one of them aborted, and 10 s of which 4 s wait for the model.
    const auto step = [&](agent_loop& loop, std::size_t index) {
        const auto start = t0 + 100s * index;
        if (loop.begin_step(index, start).size() > 1) {
            return false; // a limit ended it at once
        }
        auto turn = calling({"a"});
        turn.usage.input = 35;
        turn.usage.output = 5;
        (void)loop.on_failed_turn(broken_stream(), 2s, start + 2s);
        (void)loop.on_turn(turn, 2s, start + 4s);
        auto next = loop.on_tool_output(good, 0ms, start + 10s);
        if (next.size() == 3) {
            const auto& limit = std::get<limit_reached>(at<agent_loop::record>(next, 1).body);
            CHECK(limit.limit == kind);
            CHECK(limit.value == value);
            at<agent_loop::finish_step>(next, 2);
            return false;
        }
        at<agent_loop::ask_model>(next, 1);
        (void)loop.on_turn(text_turn("done"), 0ms, start + 10s);
        return true;
    };
    std::size_t fine = 0;
    SECTION("tokens of a step") {
        limits.max_total_tokens = 80;
        value = 80;
    }
    SECTION("tokens of a step that stays below") {
        limits.max_total_tokens = 81;
        fine = 3;
    }
    SECTION("working time of a step") {
        limits.max_working_time = 6s;
        kind = limit_kind::working_time;
        value = 6'000;
    }
    SECTION("working time of a step that stays below") {
        limits.max_working_time = 7s;
        fine = 3;
    }
    SECTION("tokens of a run") {
        limits.run.max_total_tokens = 150;
        value = 160;
        fine = 1;
    }
    SECTION("working time of a run, without what is between steps") {
        limits.run.max_working_time = 11s;
        kind = limit_kind::working_time;
        value = 12'000;
        fine = 1;
    }
    SECTION("turns of a run") {
        limits.run.max_turns = 3;
        kind = limit_kind::turns;
        value = 3;
        fine = 1;
    }
    SECTION("time of a run") {
        limits.run.max_time = 110s;
        kind = limit_kind::time;
        value = 110'000;
        fine = 1;
    }
    agent_loop loop(limits);
    std::size_t done = 0;
    while (done < 3 && step(loop, done)) {
        ++done;
    }
    CHECK(done == fine);
}

TEST_CASE("once the run's limit is reached, further steps end at once", "[agent]") {
    config::limits limits;
    limits.run.max_turns = 1;
    agent_loop loop(limits);
    (void)loop.begin_step(0, t0);
    (void)loop.on_turn(text_turn("done"), 0ms, t0);
    auto next = loop.begin_step(1, t0);
    REQUIRE(next.size() == 2);
    CHECK(std::get<limit_reached>(at<agent_loop::record>(next, 0).body).message ==
          "step 1: the run's limit of 1 turns is reached");
    at<agent_loop::finish_step>(next, 1);
}

TEST_CASE("a request has no more time than the step, and running into that is the limit and no error", "[agent]") {
    config::limits limits;
    limits.max_time = 60s;
    agent_loop loop(limits);
    CHECK(at<agent_loop::ask_model>(loop.begin_step(0, t0), 0).deadline == 60s);
    (void)loop.on_turn(calling({"a"}), 0ms, t0 + 20s);
    CHECK(at<agent_loop::ask_model>(loop.on_tool_output(good, 0ms, t0 + 25s), 1).deadline == 35s);
    auto next = loop.on_failed_turn({timeout_failure("too slow")}, 35s, t0 + 60s);
    REQUIRE(next.size() == 2);
    CHECK(std::get<limit_reached>(at<agent_loop::record>(next, 0).body).limit == limit_kind::time);
    at<agent_loop::finish_step>(next, 1);

    agent_loop patient({}, config::defaults::external_message); // a person may be behind it
    CHECK(at<agent_loop::ask_model>(patient.begin_step(0, t0), 0).deadline == 2h);
    CHECK(at<agent_loop::fail>(patient.on_failed_turn({timeout_failure("too slow")}, 2h, t0 + 2h), 0).why.kind ==
          error_class::timeout);

    agent_loop endless({});
    (void)endless.begin_step(0, t0);
    CHECK(at<agent_loop::fail>(endless.on_failed_turn({timeout_failure("too slow")}, 1h, t0 + 1h), 0).why.kind ==
          error_class::timeout);
}
