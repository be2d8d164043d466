#include "actors/run/stage_clock.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

TEST_CASE("stages that are entered again add up, and those that are not have no duration") {
    stage_clock c;
    const stage_clock::clock::time_point start{};
    c.enter(run_stage::prepare, start);
    c.enter(run_stage::agent, start + milliseconds(5));
    c.enter(run_stage::score, start + milliseconds(15));
    c.enter(run_stage::agent, start + milliseconds(16));
    c.enter(run_stage::score, start + milliseconds(20));
    const auto took = c.finish(start + milliseconds(21));
    CHECK(took == journal::stage_durations{milliseconds(5), std::nullopt, milliseconds(14), milliseconds(2),
                                           std::nullopt, milliseconds(21)});
}

TEST_CASE("an attempt that never began took no time at all") {
    CHECK(stage_clock{}.finish({}) == journal::stage_durations{});
}
