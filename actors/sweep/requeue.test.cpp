#include "actors/sweep/requeue.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

/// Run 7 of a sweep with 5 repeats: two attempts, of which the second counts.
journal::run_row a_closed_row() {
    journal::run_row row;
    row.run = journal::run_number{7};
    row.attempts.resize(2);
    for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
        row.attempts[attempt - 1].started = test::a_start(7, 5, attempt);
    }
    row.attempts[1].ended = test::an_end(7, outcome::failed(), 0.25, journal::verdict::counts, 2);
    row.attempts[1].counts = true;
    row.closed = journal::closed_row{test::some_day, attempt_number{2}, std::nullopt, {}};
    return row;
}

} // namespace

TEST_CASE("a run that has its outcome is taken back with what was counted of it") {
    const auto runs = runs_to_requeue({{"run-7", a_closed_row()}}, 5);
    REQUIRE(runs);
    REQUIRE(runs->size() == 1);
    CHECK(runs->front().number == journal::run_number{7});
    CHECK(runs->front().run == run_key{1, 2});
    CHECK(runs->front().last_attempt == 2);
    CHECK(runs->front().how == outcome::failed());
    CHECK(runs->front().score == 0.25);
}

TEST_CASE("a run that nothing was counted of is taken back all the same") {
    auto row = a_closed_row();
    row.attempts[1].counts = false;
    row.closed->counted.reset();
    const auto runs = runs_to_requeue({{"run-7", row}}, 5);
    REQUIRE(runs);
    CHECK_FALSE(runs->front().how);
    CHECK_FALSE(runs->front().score);
}

TEST_CASE("one run that cannot be taken back keeps all of them") {
    SECTION("it was closed without an attempt") {
        journal::run_row row;
        row.run = journal::run_number{8};
        row.closed = journal::closed_row{test::some_day, std::nullopt, journal::closing::first_pass, {}};
        const auto runs = runs_to_requeue({{"run-7", a_closed_row()}, {"", row}}, 5);
        REQUIRE_FALSE(runs);
        CHECK(runs.error().kind == error_class::config);
    }
    SECTION("it was never started") {
        const auto runs = runs_to_requeue({{"run-7", a_closed_row()}, {"nobody", std::nullopt}}, 5);
        REQUIRE_FALSE(runs);
        CHECK(runs.error().kind == error_class::config);
        CHECK(runs.error().message == "no run nobody was started in this sweep");
    }
    SECTION("it has no outcome") {
        auto open = a_closed_row();
        open.closed.reset();
        const auto runs = runs_to_requeue({{"run-7", a_closed_row()}, {"run-8", open}}, 5);
        REQUIRE_FALSE(runs);
        CHECK(runs.error().message == "run run-8 has no outcome yet that could be taken back");
    }
}
