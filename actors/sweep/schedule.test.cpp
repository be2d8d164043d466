#include "actors/sweep/schedule.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <vector>

using namespace chalk;
using namespace chalk::actors;

namespace {

using clock = schedule::clock;
constexpr clock::time_point start{};

schedule::cell_source all_of(std::uint64_t cells) {
    return [cells](std::uint64_t from) { return from < cells ? std::optional(from) : std::nullopt; };
}

schedule plan(std::uint64_t cells, schedule_rules rules, resume_state before = {}) {
    return {cells, all_of(cells), std::move(rules), std::move(before)};
}

schedule_rules repeats(std::uint64_t n) {
    schedule_rules rules;
    rules.repeats = n;
    return rules;
}

schedule_rules retrying(std::uint64_t repeats, std::uint32_t attempts) {
    schedule_rules rules;
    rules.repeats = repeats;
    rules.retry = {attempts, {error_class::sandbox}, seconds(1), seconds(3)};
    return rules;
}

std::optional<run_key> next_run(schedule& s, clock::time_point now = start) {
    const auto what = s.next(now);
    return what ? std::optional(what->run) : std::nullopt;
}

const outcome broken = outcome::error(error_class::sandbox, "no");

} // namespace

TEST_CASE("a schedule hands out each run of each cell once, a repeat of every cell before the next repeat") {
    auto s = plan(2, repeats(2));
    CHECK(next_run(s) == run_key{0, 0});
    CHECK(next_run(s) == run_key{1, 0});
    CHECK(next_run(s) == run_key{0, 1});
    CHECK(next_run(s) == run_key{1, 1});
    CHECK(next_run(s) == std::nullopt);
    CHECK(s.counts().out == 4);
    CHECK_FALSE(s.complete());
}

TEST_CASE("a cell whose runs do not end holds its share of the slots and no more") {
    auto s = plan(2, repeats(100));
    // Ten slots; the runs of cell 0 hang, those of cell 1 end one after the other.
    std::vector<run_key> of_1;
    for (int slot = 0; slot < 10; ++slot) {
        const auto run = next_run(s);
        REQUIRE(run);
        if (run->cell == 1) {
            of_1.push_back(*run);
        }
    }
    REQUIRE(of_1.size() == 5);
    for (int i = 0; i < 50; ++i) {
        CHECK(s.finished(of_1.back(), outcome::passed(), 1.0, start) == schedule::verdict::counts);
        const auto run = next_run(s);
        REQUIRE(run);
        CHECK(run->cell == 1);
        of_1.back() = *run;
    }
}

TEST_CASE("a schedule is complete when each run has one outcome, and a second report changes nothing") {
    auto s = plan(1, repeats(3));
    while (s.next(start)) {
    }
    CHECK(s.finished({0, 0}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    CHECK(s.finished({0, 1}, outcome::failed(), 0.5, start) == schedule::verdict::counts);
    CHECK(s.finished({0, 1}, broken, std::nullopt, start) == schedule::verdict::unknown);
    CHECK_FALSE(s.complete());
    CHECK(s.finished({0, 2}, broken, std::nullopt, start) == schedule::verdict::counts);
    CHECK(s.complete());
    CHECK(s.counts().passed == 1);
    CHECK(s.counts().failed == 1);
    CHECK(s.counts().errors == 1);
    CHECK(s.counts().errors_by_class.at(static_cast<std::size_t>(error_class::sandbox)) == 1);
    CHECK(s.counts().mean_score() == 0.75);
    CHECK(s.counts().not_started() == 0);
}

TEST_CASE("a run that was never handed out cannot finish") {
    auto s = plan(1, repeats(1));
    CHECK(s.finished({0, 0}, outcome::passed(), std::nullopt, start) == schedule::verdict::unknown);
}

TEST_CASE("an error of a listed class is retried with growing pauses, behind fresh work, up to max_attempts") {
    auto s = plan(1, retrying(2, 4));
    REQUIRE(s.next(start) == schedule::assignment{{0, 0}, 1});
    CHECK(s.finished({0, 0}, broken, std::nullopt, start) == schedule::verdict::retried);
    // Due, yet there is fresh work.
    REQUIRE(s.next(start + seconds(5)) == schedule::assignment{{0, 1}, 1});
    CHECK(s.finished({0, 1}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    auto now = start;
    CHECK_FALSE(s.complete());
    for (const auto& [attempt, pause] : {std::pair{2U, 1}, {3U, 2}, {4U, 3}}) {
        CHECK(s.next(now + seconds(pause) - std::chrono::milliseconds(1)) == std::nullopt);
        CHECK(s.next_retry() == now + seconds(pause));
        now += seconds(pause);
        REQUIRE(s.next(now) == schedule::assignment{{0, 0}, attempt});
        CHECK(s.finished({0, 0}, broken, std::nullopt, now) ==
              (attempt == 4 ? schedule::verdict::counts : schedule::verdict::retried));
    }
    CHECK(s.complete());
    CHECK(s.counts().retries == 3);
    CHECK(s.counts().errors == 1);
}

TEST_CASE("an error of another class is not retried") {
    auto s = plan(1, retrying(1, 4));
    REQUIRE(s.next(start));
    CHECK(s.finished({0, 0}, outcome::error(error_class::task, "no"), std::nullopt, start) ==
          schedule::verdict::counts);
    CHECK(s.complete());
}

TEST_CASE("after a stop nothing starts, what is cancelled by it keeps no outcome, and the rest is not started") {
    auto s = plan(1, repeats(5));
    REQUIRE(s.next(start));
    REQUIRE(s.next(start));
    s.stop("enough");
    s.stop("later");
    CHECK(s.stopped() == "enough");
    CHECK(s.next(start) == std::nullopt);
    CHECK_FALSE(s.complete());
    CHECK(s.finished({0, 0}, outcome::cancelled("enough"), std::nullopt, start) == schedule::verdict::returned);
    CHECK(s.finished({0, 1}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    CHECK(s.complete());
    CHECK(s.counts().not_started() == 4);
}

TEST_CASE("where cancelled counts, every run has an outcome after a stop") {
    auto rules = repeats(5);
    rules.cancelled_counts = true;
    auto s = plan(1, rules);
    REQUIRE(s.next(start));
    s.stop("enough");
    CHECK(s.counts().cancelled == 4);
    CHECK(s.finished({0, 0}, outcome::cancelled("enough"), std::nullopt, start) == schedule::verdict::counts);
    CHECK(s.counts().cancelled == 5);
    CHECK(s.counts().ended() == 5);
    CHECK(s.complete());
}

TEST_CASE("max_errors stops the sweep, retried attempts not counted") {
    auto rules = retrying(10, 2);
    rules.stop.max_errors = 2;
    auto s = plan(1, rules);
    for (std::uint64_t i = 0; i < 10; ++i) {
        REQUIRE(s.next(start));
    }
    CHECK(s.finished({0, 0}, broken, std::nullopt, start) == schedule::verdict::retried);
    CHECK(s.finished({0, 1}, outcome::error(error_class::task, ""), std::nullopt, start) == schedule::verdict::counts);
    CHECK_FALSE(s.stopped());
    CHECK(s.finished({0, 2}, outcome::error(error_class::task, ""), std::nullopt, start) == schedule::verdict::counts);
    REQUIRE(s.stopped());
    CHECK(s.stopped()->find("max_errors") != std::string::npos);
}

TEST_CASE("max_error_rate holds once after_runs have ended") {
    auto rules = repeats(10);
    rules.stop.max_error_rate = 0.5;
    rules.stop.after_runs = 4;
    auto s = plan(1, rules);
    while (s.next(start)) {
    }
    for (std::uint64_t i = 0; i < 3; ++i) {
        CHECK(s.finished({0, i}, broken, std::nullopt, start) == schedule::verdict::counts);
        CHECK_FALSE(s.stopped());
    }
    CHECK(s.finished({0, 3}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    CHECK(s.stopped());
}

TEST_CASE("with first_pass a cell that has passed skips the runs it has not started") {
    auto rules = repeats(4);
    rules.stop.first_pass = true;
    auto s = plan(2, rules);
    REQUIRE(next_run(s) == run_key{0, 0});
    REQUIRE(next_run(s) == run_key{1, 0});
    CHECK(s.finished({0, 0}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    CHECK(s.counts().skipped == 3);
    for (std::uint64_t i = 1; i < 4; ++i) {
        CHECK(next_run(s) == run_key{1, i});
    }
    CHECK(next_run(s) == std::nullopt);
}

TEST_CASE("each run that a passed cell skips is named once, a few at a time, wherever it waited") {
    auto rules = retrying(5, 2);
    rules.stop.first_pass = true;
    auto s = plan(1, rules);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(s.next(start));
    }
    CHECK(s.finished({0, 0}, broken, std::nullopt, start) == schedule::verdict::retried);
    CHECK_FALSE(s.has_passed_over());
    CHECK(s.finished({0, 1}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    s.put_back({{0, 2}, 1}, true);
    CHECK(s.counts().skipped == 4);
    CHECK(s.take_passed_over(3) == std::vector<run_key>{{0, 3}, {0, 4}, {0, 0}});
    CHECK(s.has_passed_over());
    CHECK(s.take_passed_over(3) == std::vector<run_key>{{0, 2}});
    CHECK(s.take_passed_over(3).empty());
    CHECK(s.complete());
    REQUIRE(s.requeue({0, 3}, 0, std::nullopt, std::nullopt));
    CHECK(s.counts().skipped == 3);
    CHECK(s.counts().not_started() == 1);
    CHECK(s.next(start) == schedule::assignment{{0, 3}, 1});
}

TEST_CASE("a resumed sweep skips what a passed cell has left, and runs what a person asked for") {
    resume_state before;
    before.open = {{{0, 1}, {1, 1, 0, 0, false}}, {{0, 2}, {0, 1, 0, 0, true}}};
    before.closed = [](run_key run) { return run == run_key{0, 0}; };
    before.passed_cells = {0};
    before.counted.passed = 1;
    auto rules = repeats(4);
    rules.stop.first_pass = true;
    auto s = plan(1, rules, std::move(before));
    REQUIRE(s.next(start) == schedule::assignment{{0, 2}, 2});
    CHECK(s.next(start) == std::nullopt);
    CHECK(s.take_passed_over(10) == std::vector<run_key>{{0, 1}, {0, 3}});
    CHECK(s.finished({0, 2}, outcome::failed(), 0.0, start) == schedule::verdict::counts);
    CHECK(s.complete());
    CHECK(s.counts().not_started() == 0);
}

TEST_CASE("a cell's breaker closes that cell alone, and says so") {
    auto rules = retrying(50, 10);
    rules.breaker = {3, seconds(60), config::breaker_scope::cell};
    auto s = plan(2, rules);
    std::size_t of_0 = 0;
    while (const auto what = s.next(start)) {
        of_0 += what->run.cell == 0 ? 1 : 0;
        static_cast<void>(s.finished(what->run, what->run.cell == 0 ? broken : outcome::passed(), 1.0, start));
    }
    CHECK(of_0 == 3);
    const auto said = s.take_notices();
    REQUIRE(said.size() == 1);
    CHECK(said.front().find("cell 0") != std::string::npos);
    CHECK(s.counts().passed == 50);
    CHECK(s.counts().ended() + s.counts().skipped == 100);
    CHECK(s.counts().broken == s.counts().skipped);
    CHECK_FALSE(s.has_passed_over()); // a resume runs them
    CHECK(s.complete());
}

TEST_CASE("what a closed cell has not begun is skipped when it is put back, and what of another cell was comes again") {
    auto rules = repeats(2);
    rules.breaker = {1, seconds(60), config::breaker_scope::cell};
    auto s = plan(2, rules);
    while (s.next(start)) {
    }
    CHECK_FALSE(s.take_closed());
    static_cast<void>(s.finished({0, 0}, broken, std::nullopt, start));
    CHECK(s.take_closed());
    CHECK_FALSE(s.take_closed());
    s.put_back({{0, 1}, 1}, true);
    s.put_back({{1, 1}, 1}, true);
    CHECK(s.counts().skipped == 1);
    CHECK(s.next(start) == schedule::assignment{{1, 1}, 2});
    CHECK(s.next(start) == std::nullopt);
}

TEST_CASE("errors that are further apart than the window do not open a breaker") {
    auto rules = repeats(10);
    rules.breaker = {2, seconds(60), config::breaker_scope::sweep};
    auto s = plan(1, rules);
    auto now = start;
    while (const auto what = s.next(now)) {
        static_cast<void>(s.finished(what->run, broken, std::nullopt, now));
        now += seconds(61);
    }
    CHECK_FALSE(s.stopped());
    CHECK(s.counts().errors == 10);
}

TEST_CASE("seal_at cuts stragglers off once everything was started") {
    auto rules = retrying(10, 3);
    rules.seal_at = 0.8;
    auto s = plan(1, rules);
    for (std::uint64_t i = 0; i < 9; ++i) {
        REQUIRE(s.next(start));
    }
    for (std::uint64_t i = 0; i < 8; ++i) {
        CHECK(s.finished({0, i}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    }
    CHECK_FALSE(s.sealed()); // the tenth was not started
    REQUIRE(s.next(start));
    CHECK(s.sealed());
    CHECK(s.finished({0, 8}, broken, std::nullopt, start) == schedule::verdict::counts); // and is not retried
    CHECK(s.finished({0, 9}, outcome::error(error_class::timeout, "sealed"), std::nullopt, start) ==
          schedule::verdict::counts);
    CHECK(s.complete());
}

TEST_CASE("a run whose node is lost is handed out again without charge, and the third loss is its end") {
    auto s = plan(1, retrying(1, 1));
    REQUIRE(s.next(start) == schedule::assignment{{0, 0}, 1});
    CHECK(s.lost({0, 0}, start) == schedule::after_loss::again);
    REQUIRE(s.next(start) == schedule::assignment{{0, 0}, 2});
    CHECK(s.lost({0, 0}, start) == schedule::after_loss::again);
    REQUIRE(s.next(start) == schedule::assignment{{0, 0}, 3});
    CHECK(s.lost({0, 0}, start) == schedule::after_loss::give_up);
    CHECK(s.counts().errors == 1);
    CHECK(s.lost({0, 0}, start) == schedule::after_loss::unknown);
    CHECK(s.complete());
}

TEST_CASE("an error of a node that is short of something is charged to nobody, whatever the retry rules say") {
    auto rules = retrying(1, 1);
    rules.breaker.max_errors = 1;
    rules.stop.max_errors = 1;
    auto s = plan(1, rules);
    auto now = start;
    for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
        REQUIRE(s.next(now) == schedule::assignment{{0, 0}, attempt});
        // A class that is never tried again otherwise: what is short may keep the environment's program from starting.
        CHECK(s.finished({0, 0}, outcome::error(error_class::task, "no"), std::nullopt, now, true) ==
              schedule::verdict::forgiven);
        CHECK(s.next(now) == std::nullopt);
        REQUIRE(s.next_retry());
        CHECK(*s.next_retry() == now + std::min(seconds(3), seconds(1 << (attempt - 1))));
        now = *s.next_retry();
    }
    CHECK(s.counts().errors == 0);
    CHECK(s.counts().retries == 0);
    CHECK_FALSE(s.stopped());
    REQUIRE(s.next(now) == schedule::assignment{{0, 0}, 4});
    CHECK(s.finished({0, 0}, outcome::passed(), 1.0, now, true) == schedule::verdict::counts);
    CHECK(s.complete());
}

TEST_CASE("in a cell that has passed an error of a node that is short is left out, and no stop rule hears of it") {
    auto rules = repeats(3);
    rules.retry.max_attempts = 2;
    rules.stop.first_pass = true;
    rules.stop.max_errors = 1;
    auto s = plan(1, rules);
    for (std::uint64_t i = 0; i < 3; ++i) {
        REQUIRE(s.next(start) == schedule::assignment{{0, i}, 1});
    }
    CHECK(s.finished({0, 1}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    CHECK(s.finished({0, 0}, broken, std::nullopt, start, true) == schedule::verdict::forgiven);
    CHECK(s.finished({0, 2}, broken, std::nullopt, start, true) == schedule::verdict::forgiven);
    CHECK(s.counts().errors == 0);
    CHECK(s.counts().skipped == 2);
    CHECK_FALSE(s.stopped());
    CHECK(s.take_passed_over(9) == std::vector<run_key>{{0, 0}, {0, 2}});
    CHECK(s.complete());
}

TEST_CASE("a run whose every attempt fails on a node that is short ends all the same") {
    auto s = plan(1, retrying(1, 2));
    auto now = start;
    std::vector<schedule::verdict> said;
    while (const auto what = s.next(now)) {
        said.push_back(s.finished(what->run, broken, std::nullopt, now, true));
        now = s.next_retry().value_or(now);
        REQUIRE(said.size() < 100);
    }
    using enum schedule::verdict;
    CHECK(said == std::vector{forgiven, forgiven, forgiven, retried, counts});
    CHECK(s.complete());
    CHECK(s.counts().errors == 1);
}

TEST_CASE("what more room would not have mended is charged, also on a node that is short") {
    auto s = plan(1, repeats(4));
    for (const auto kind : {error_class::config, error_class::timeout, error_class::budget, error_class::node_lost}) {
        const auto run = next_run(s);
        REQUIRE(run);
        CHECK(s.finished(*run, outcome::error(kind, "no"), std::nullopt, start, true) == schedule::verdict::counts);
    }
    CHECK(s.complete());
}

TEST_CASE("a resume remembers how often a run's node was short, and a requeue forgets it") {
    resume_state before;
    before.open = {{{0, 0}, {.attempts = 0, .last_attempt = 3, .node_losses = 0, .shortages = 3, .requeued = false}}};
    auto s = plan(1, retrying(1, 1), before);
    REQUIRE(s.next(start) == schedule::assignment{{0, 0}, 4});
    CHECK(s.finished({0, 0}, broken, std::nullopt, start, true) == schedule::verdict::counts);
    REQUIRE(s.requeue({0, 0}, 4, broken, std::nullopt));
    REQUIRE(s.next(start) == schedule::assignment{{0, 0}, 5});
    CHECK(s.finished({0, 0}, broken, std::nullopt, start, true) == schedule::verdict::forgiven);
}

TEST_CASE("chalk run has one place for a run's transcript and makes no second attempt for a shortage") {
    auto s = one_cell(1);
    REQUIRE(s.next(start));
    CHECK(s.finished({0, 0}, broken, std::nullopt, start, true) == schedule::verdict::counts);
    CHECK(s.complete());
}

TEST_CASE("a resumed sweep runs what has no outcome, and what was open under the next attempt's number") {
    resume_state before;
    before.closed = [](run_key run) { return run.cell == 0 && run.index < 2; };
    before.open = {{{1, 0}, {1, 1, 0, 0, false}}};
    before.counted.passed = 2;
    auto s = plan(2, retrying(3, 3), std::move(before));
    std::vector<schedule::assignment> got;
    while (const auto what = s.next(start)) {
        got.push_back(*what);
        CHECK(s.finished(what->run, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    }
    CHECK(s.complete());
    CHECK(s.counts().passed == 6);
    CHECK(got.size() == 4);
    CHECK(std::count(got.begin(), got.end(), schedule::assignment{{1, 0}, 2}) == 1);
}

TEST_CASE("a requeued run has its outcome taken back and runs once more, also when its cell was let go") {
    auto s = plan(1, repeats(2));
    while (const auto what = s.next(start)) {
        static_cast<void>(s.finished(what->run, broken, std::nullopt, start));
    }
    REQUIRE(s.complete());
    CHECK(s.requeue({0, 1}, 1, broken, std::nullopt));
    CHECK_FALSE(s.requeue({0, 1}, 1, broken, std::nullopt));
    CHECK_FALSE(s.complete());
    CHECK(s.counts().errors == 1);
    REQUIRE(s.next(start) == schedule::assignment{{0, 1}, 2});
    CHECK(s.finished({0, 1}, outcome::passed(), 1.0, start) == schedule::verdict::counts);
    CHECK(s.complete());
    CHECK(s.next(start) == std::nullopt);
}

TEST_CASE("an assignment that is put back comes again under its own number") {
    auto s = plan(1, repeats(1));
    const auto first = s.next(start);
    REQUIRE(first);
    s.put_back(*first);
    CHECK(s.counts().out == 0);
    CHECK(s.next(start) == first);
}

TEST_CASE("ten million cells are opened as they are needed") {
    std::uint64_t asked = 0;
    schedule s(
        10'000'000,
        [&asked](std::uint64_t from) {
            ++asked;
            return std::optional(from);
        },
        repeats(1));
    REQUIRE(s.next(start));
    CHECK(asked <= 1024);
    CHECK(s.counts().total == 10'000'000);
}
