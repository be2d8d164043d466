#include "actors/sweep/sweep_plan.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

TEST_CASE("a plan hands out every run of every cell once, in order") {
    sweep_plan plan(2, 2);
    CHECK(plan.next() == run_key{0, 0});
    CHECK(plan.next() == run_key{0, 1});
    CHECK(plan.next() == run_key{1, 0});
    CHECK(plan.next() == run_key{1, 1});
    CHECK(plan.next() == std::nullopt);
    CHECK(plan.counts().out == 4);
    CHECK_FALSE(plan.complete());
}

TEST_CASE("a plan is complete when each run has one outcome, and a second report changes nothing") {
    sweep_plan plan(1, 3);
    while (plan.next()) {
    }
    CHECK(plan.finished({0, 0}, outcome_status::passed, 1.0));
    CHECK(plan.finished({0, 1}, outcome_status::failed, 0.5));
    CHECK_FALSE(plan.finished({0, 1}, outcome_status::error, std::nullopt));
    CHECK_FALSE(plan.complete());
    CHECK(plan.finished({0, 2}, outcome_status::error, std::nullopt));
    CHECK(plan.complete());
    CHECK(plan.counts().passed == 1);
    CHECK(plan.counts().failed == 1);
    CHECK(plan.counts().errors == 1);
    CHECK(plan.counts().mean_score() == 0.75);
}

TEST_CASE("a run that was never handed out cannot finish") {
    sweep_plan plan(1, 1);
    CHECK_FALSE(plan.finished({0, 0}, outcome_status::passed, std::nullopt));
}

TEST_CASE("stopping cancels what was not handed out and waits for what was") {
    sweep_plan plan(1, 5);
    REQUIRE(plan.next());
    CHECK(plan.stop() == 4);
    CHECK(plan.stop() == 0);
    CHECK(plan.next() == std::nullopt);
    CHECK_FALSE(plan.complete());
    CHECK(plan.finished({0, 0}, outcome_status::cancelled, std::nullopt));
    CHECK(plan.complete());
    CHECK(plan.counts().cancelled == 5);
}

TEST_CASE("a run whose node is lost is handed out again, and the third loss is its end") {
    sweep_plan plan(1, 2);
    REQUIRE(plan.next() == run_key{0, 0});
    CHECK(plan.lost({0, 0}) == sweep_plan::after_loss::again);
    REQUIRE(plan.next() == run_key{0, 0});
    CHECK(plan.lost({0, 0}) == sweep_plan::after_loss::again);
    REQUIRE(plan.next() == run_key{0, 0});
    CHECK(plan.lost({0, 0}) == sweep_plan::after_loss::give_up);
    CHECK(plan.counts().errors == 1);
    CHECK(plan.lost({0, 0}) == sweep_plan::after_loss::not_out);
    REQUIRE(plan.next() == run_key{0, 1});
    CHECK(plan.finished({0, 1}, outcome_status::passed, std::nullopt));
    CHECK(plan.complete());
}

TEST_CASE("a run lost after the stop is not handed out again") {
    sweep_plan plan(1, 1);
    REQUIRE(plan.next());
    CHECK(plan.stop() == 0);
    CHECK(plan.lost({0, 0}) == sweep_plan::after_loss::give_up);
    CHECK(plan.complete());
    CHECK(plan.counts().errors == 1);
}
