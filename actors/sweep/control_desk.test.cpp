#include "actors/sweep/control_desk.hpp"

#include "protocol/core/json_text.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

TEST_CASE("a paused sweep starts nothing until it is resumed, a drained one nothing at all") {
    control_desk desk("box", 100, std::nullopt);
    CHECK(desk.lets_start());
    CHECK(desk.pause().find("paused") == 0);
    CHECK_FALSE(desk.lets_start());
    CHECK(desk.resume() == "resumed");
    CHECK(desk.lets_start());
    CHECK(desk.drain("box"));
    CHECK_FALSE(desk.lets_start());
    CHECK(desk.resume() == "resumed");
    CHECK_FALSE(desk.lets_start());
}

TEST_CASE("what cannot be done is refused, and changes nothing") {
    control_desk desk("box", 100, 8);
    const auto window = desk.window();
    CHECK(desk.limit(0).error().kind == error_class::config);
    CHECK(desk.window() == window);
    CHECK(desk.drain("elsewhere").error().message == "there is no node elsewhere; nodes: box");
    CHECK(desk.lets_start());
}

TEST_CASE("so many runs are out as may run at once and a few more, within what a node may hold") {
    control_desk desk("box", 1000, 8);
    CHECK(desk.window() == with_slack(8));
    CHECK(desk.limit(5000).value() == "at most 5000 runs at once from now on");
    CHECK(desk.window() == 1000);
    CHECK(desk.limit(std::nullopt));
    CHECK(desk.window() == 1000);
    CHECK(control_desk("box", 1000, std::nullopt).window() == 1000);
}

TEST_CASE("who looks is told the first reason why nothing starts, and the figures") {
    control_desk desk("box", 10, std::nullopt);
    sweep_view view;
    const auto state = [&] { return json::parse(desk.look(view)).at("state").get<std::string>(); };
    CHECK(state() == "running");
    view.budget_held = true;
    CHECK(state() == "waiting for the budget");
    view.node_short = true;
    CHECK(state() == "waiting for room");
    CHECK(desk.drain("box"));
    CHECK(state() == "drained");
    view.journal_blocked = true;
    CHECK(state() == "waiting for the journal");
    CHECK_FALSE(desk.pause().empty());
    CHECK(state() == "paused");
    view.stopping = true;
    CHECK(state() == "stopping");
    view.ending = true;
    CHECK(state() == "ending");
    view.counts.total = 9;
    view.counts.passed = 2;
    view.counts.errors = 1;
    view.under_way = 4;
    view.spent = {50, 0.5};
    const auto said = json::parse(desk.look(view));
    CHECK(said.at("total") == 9);
    CHECK(said.at("ended") == 3);
    CHECK(said.at("under_way") == 4);
    CHECK(said.at("tokens") == 50);
    CHECK(said.at("usd") == 0.5);
}
