#include "protocol/statistics/compare.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::statistics;

namespace {

cell_side side(const std::string& id, const std::vector<double>& scores) {
    cell_side cell;
    cell.id = id;
    for (const double score : scores) {
        cell.scores.add(score);
        cell.passed += score > 0.5 ? 1 : 0;
        ++cell.judged;
    }
    return cell;
}

} // namespace

TEST_CASE("sweeps are compared cell by cell, and overall by the cells that both have") {
    const auto c = compare({side("one", {1, 0}), side("two", {0, 0}), side("a alone", {1}), side("empty", {})},
                           {side("two", {1, 1}), side("b alone", {0}), side("one", {1, 1}), side("empty", {1})});
    REQUIRE(c.cells.size() == 3);
    CHECK(c.cells[0].a.id == "one");
    CHECK(c.cells[0].score.a == 0.5);
    CHECK(c.cells[0].score.value == 0.5);
    CHECK(c.cells[0].score.range->method == "welch");
    CHECK(c.cells[0].pass_rate.range->method == "newcombe");
    CHECK(c.cells[1].score.value == 1.0);
    CHECK_FALSE(c.cells[2].score.value);
    CHECK_FALSE(c.cells[2].pass_rate.range);
    REQUIRE(c.only_in_a.size() == 1);
    CHECK(c.only_in_a[0].id == "a alone");
    REQUIRE(c.only_in_b.size() == 1);
    CHECK(c.only_in_b[0].id == "b alone");
    CHECK(c.scored_cells == 2);
    CHECK(c.score.value == 0.75);
    CHECK(c.score.a == 0.25); // of the two cells, not of all of a's
    CHECK(c.score.range->method == "student_t_paired");
}

TEST_CASE("keys that differ are named, also where one side has none") {
    const auto a =
        json::parse(R"({"base":{"model":"x","limits":{"max_turns":5}},"repeat":3,"axes":{"task":["a","b"]}})");
    const auto b = json::parse(R"({"base":{"model":"y","limits":{}},"repeat":3,"axes":{"task":["a"]}})");
    const auto keys = differing_keys(a, b);
    REQUIRE(keys.size() == 4);
    CHECK(keys[0].key == "axes.task");
    CHECK(keys[1].key == "base.limits");
    CHECK_FALSE(keys[1].a);
    CHECK(keys[2].key == "base.limits.max_turns");
    CHECK_FALSE(keys[2].b);
    CHECK(keys[3].key == "base.model");
    CHECK(keys[3].a == json("x"));
    CHECK(differing_keys(a, a).empty());
}
