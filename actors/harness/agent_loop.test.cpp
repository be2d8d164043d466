#include "actors/harness/agent_loop.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using chalk::actors::agent_loop;
using namespace std::chrono_literals;

namespace {

model::turn text_turn(std::string text) {
    return {std::move(text), {}, {}, model::stop_reason::end, {}};
}

model::turn calling(std::vector<std::string> tools) {
    model::turn turn;
    for (auto& name : tools) {
        turn.tool_calls.push_back({"id-" + name, name, json::object()});
    }
    turn.stopped = model::stop_reason::tool_calls;
    return turn;
}

model::turn empty_turn() {
    return {{}, "thinking", {}, model::stop_reason::length, {}};
}

const mcp::tool_output good{{{{"type", "text"}, {"text", "ok"}}}, false, false};
const agent_loop::time_point t0{};

template<class Command>
const Command& at(const agent_loop::commands& all, std::size_t index) {
    REQUIRE(index < all.size());
    REQUIRE(std::holds_alternative<Command>(all[index]));
    return std::get<Command>(all[index]);
}

} // namespace

TEST_CASE("a turn without tool calls ends the step", "[agent]") {
    agent_loop loop({});
    loop.hear(message_role::user, "go");
    auto next = loop.begin_step(2, t0);
    REQUIRE(next.size() == 1);
    CHECK(at<agent_loop::ask_model>(next, 0).step == 2);
    CHECK(at<agent_loop::ask_model>(next, 0).turn == 0);
    next = loop.on_turn(text_turn("done"), 5ms, t0);
    REQUIRE(next.size() == 2);
    const auto& said = std::get<message_added>(at<agent_loop::record>(next, 0).body);
    CHECK(said.role == message_role::assistant);
    CHECK(said.text == "done");
    CHECK(said.duration == 5ms);
    at<agent_loop::finish_step>(next, 1);
    CHECK(loop.messages()->size() == 2);
}

TEST_CASE("tool calls run one at a time, in order, and the model is asked again after the last", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    auto next = loop.on_turn(calling({"a", "b"}), 0ms, t0);
    REQUIRE(next.size() == 2);
    CHECK(at<agent_loop::call_tool>(next, 1).call.name == "a");
    next = loop.on_tool_output(good, 3ms, t0);
    REQUIRE(next.size() == 2);
    const auto& got = std::get<tool_result>(at<agent_loop::record>(next, 0).body);
    CHECK(got.call_id == "id-a");
    CHECK(got.text == "ok");
    CHECK(got.duration == 3ms);
    CHECK(at<agent_loop::call_tool>(next, 1).call.name == "b");
    next = loop.on_tool_output(mcp::tool_output{{}, true, true}, 0ms, t0);
    const auto& bad = std::get<tool_result>(at<agent_loop::record>(next, 0).body);
    CHECK(bad.is_error);
    CHECK(bad.truncated);
    CHECK(at<agent_loop::ask_model>(next, 1).turn == 1);
    REQUIRE(loop.messages()->size() == 3);
    CHECK(loop.messages()->back().call_id == "id-b");
    CHECK(loop.messages()->back().is_error);
}

TEST_CASE("an empty turn is asked to go on three times in a row and is an error on the fourth", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    for (std::size_t i = 1; i <= 3; ++i) {
        auto next = loop.on_turn(empty_turn(), 0ms, t0);
        REQUIRE(next.size() == 3);
        CHECK(std::get<message_added>(at<agent_loop::record>(next, 1).body).role == message_role::user);
        CHECK(at<agent_loop::ask_model>(next, 2).turn == i);
    }
    auto next = loop.on_turn(empty_turn(), 0ms, t0);
    REQUIRE(next.size() == 2);
    CHECK(at<agent_loop::fail>(next, 1).why.kind == error_class::model);
}

TEST_CASE("a turn that holds something starts the count of empty turns anew, and so does a step", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3; ++i) {
            at<agent_loop::ask_model>(loop.on_turn(empty_turn(), 0ms, t0), 2);
        }
        (void)loop.on_turn(calling({"a"}), 0ms, t0);
        at<agent_loop::ask_model>(loop.on_tool_output(good, 0ms, t0), 1);
    }
    for (int i = 0; i < 3; ++i) {
        (void)loop.on_turn(empty_turn(), 0ms, t0);
    }
    (void)loop.begin_step(1, t0);
    at<agent_loop::ask_model>(loop.on_turn(empty_turn(), 0ms, t0), 2);
}

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

TEST_CASE("a tool's output without an open call is an error of the harness", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    CHECK(at<agent_loop::fail>(loop.on_tool_output(good, 0ms, t0), 0).why.kind == error_class::harness);
}

namespace {

using failed_turn = model::turn_failure;

failed_turn broken_stream() {
    model::turn half;
    half.text = "half";
    half.usage.input = 30;
    half.usage.output = 10;
    return {model_failure("the stream broke"), failed_turn::what::aborted, half};
}

} // namespace

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

TEST_CASE("a refusal ends the step, also an empty one, and calls in it are not made", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    auto turn = GENERATE(empty_turn(), calling({"a"}));
    turn.stopped = model::stop_reason::refusal;
    at<agent_loop::finish_step>(loop.on_turn(turn, 0ms, t0), 1);
}

TEST_CASE("a paused turn goes on without a word of the harness, within bounds", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    auto paused = text_turn("searching");
    paused.stopped = model::stop_reason::paused;
    paused.provider_items = json::array({"kept"});
    for (std::size_t i = 1; i <= 20; ++i) {
        auto next = loop.on_turn(paused, 0ms, t0);
        REQUIRE(next.size() == 2);
        CHECK(at<agent_loop::ask_model>(next, 1).turn == i);
        CHECK(loop.messages()->back().provider_items == json::array({"kept"}));
    }
    CHECK(at<agent_loop::fail>(loop.on_turn(paused, 0ms, t0), 1).why.kind == error_class::model);
}

TEST_CASE("a call with broken arguments is answered with what is wrong, and its neighbours run in order", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    auto turn = calling({"a", "b", "c", "d"});
    turn.call_defects = {"bad a", "", "bad c", "bad d"};
    auto next = loop.on_turn(turn, 0ms, t0);
    REQUIRE(next.size() == 3);
    const auto& refused = std::get<tool_result>(at<agent_loop::record>(next, 1).body);
    CHECK(refused.call_id == "id-a");
    CHECK(refused.is_error);
    CHECK(refused.text == "bad a");
    CHECK(at<agent_loop::call_tool>(next, 2).call.name == "b");
    next = loop.on_tool_output(good, 0ms, t0);
    REQUIRE(next.size() == 4);
    CHECK(std::get<tool_result>(at<agent_loop::record>(next, 2).body).text == "bad d");
    at<agent_loop::ask_model>(next, 3);
    CHECK(loop.messages()->size() == 5);
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
