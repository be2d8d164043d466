#include "actors/harness/agent_loop.test.hpp"

using namespace chalk;
using namespace chalk::test;
using namespace std::chrono_literals;

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

TEST_CASE("a tool's output without an open call is an error of the harness", "[agent]") {
    agent_loop loop({});
    (void)loop.begin_step(0, t0);
    CHECK(at<agent_loop::fail>(loop.on_tool_output(good, 0ms, t0), 0).why.kind == error_class::harness);
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
