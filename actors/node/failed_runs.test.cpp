#include "actors/node/failed_runs.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::actors;

TEST_CASE("a failed run is told once a measure that began after its end has ended") {
    failed_runs<int> runs;
    runs.add(1, 2, false); // while measure 1 is under way
    CHECK(runs.measured(1, false).empty());
    const auto told = runs.measured(2, true);
    REQUIRE(told.size() == 1);
    CHECK(told.front().what == 1);
    CHECK(told.front().node_was_short);
    CHECK(runs.measured(3, true).empty());
}

TEST_CASE("a node was short at a run's end when the measure before it says so, or one since") {
    failed_runs<int> runs;
    runs.add(1, 2, true);  // what it held is free again by the next measure
    runs.add(2, 2, false); // the measure that was under way finds it
    CHECK(runs.measured(1, true).empty());
    runs.add(3, 2, false);
    const auto told = runs.measured(2, false);
    REQUIRE(told.size() == 3);
    CHECK(told[0].node_was_short);
    CHECK(told[1].node_was_short);
    CHECK_FALSE(told[2].node_was_short);
}

TEST_CASE("a measure that never ends holds no outcome for more than two intervals") {
    failed_runs<int> runs;
    runs.add(1, 1, true);
    CHECK(runs.interval_passed().empty());
    runs.add(2, 1, false);
    const auto told = runs.interval_passed();
    REQUIRE(told.size() == 1);
    CHECK(told.front().what == 1);
    CHECK(told.front().node_was_short);
    CHECK(runs.interval_passed().size() == 1);
}
