#include "cli/progress/board.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

using namespace chalk;
using namespace chalk::cli;
using std::chrono::seconds;

namespace {

constexpr board::clock::time_point start{};

actors::order_ptr order(std::uint64_t cell, std::uint64_t repeat, std::string label = {}) {
    auto o = std::make_shared<actors::run_order>();
    o->key = {cell, repeat};
    o->cell_label = std::move(label);
    o->config.id = run_id::parse("r." + std::to_string(cell) + "." + std::to_string(repeat)).value();
    return o;
}

actors::run_result ended(actors::order_ptr o, outcome how, std::optional<double> score = std::nullopt) {
    actors::run_result what;
    what.order = std::move(o);
    what.how = std::move(how);
    what.score = score;
    return what;
}

bool any_has(const std::vector<std::string>& lines, const std::string& text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.find(text) != std::string::npos; });
}

} // namespace

TEST_CASE("the status line counts what is done, what runs, how it goes and how long it will take") {
    board b(50, start);
    b.began(*order(0, 0), start);
    b.began(*order(0, 1), start);
    actors::sweep_counts counts;
    counts.total = 50;
    counts.passed = 9;
    counts.failed = 1;
    counts.score_sum = 9;
    counts.scored = 10;
    b.ended(ended(order(0, 0), outcome::passed(), 1.0), counts, false, start + seconds(10));
    // The first outcome came after ten seconds; nine had been there before.
    CHECK(b.status_line(start + seconds(10)) ==
          "10 of 50 done, 1 running, 9 passed, 1 failed, 0 errors, mean score 0.9, "
          "0:10, 0.1/s, 6:40 left");
    CHECK(b.summary(counts, start + seconds(3700)) ==
          "10 of 50 done, 0 running, 9 passed, 1 failed, 0 errors, mean score 0.9, 1:01:40");
}

TEST_CASE("the board has a bar, a line a cell, the slowest runs and the last failures, within its size") {
    board b(100, start);
    actors::sweep_counts counts;
    counts.total = 100;
    for (std::uint64_t cell = 0; cell < 30; ++cell) {
        b.began(*order(cell, 0, "model=m" + std::to_string(cell)), start + seconds(cell));
    }
    ++counts.errors;
    b.ended(ended(order(5, 0, "model=m5"), outcome::error(error_class::sandbox, "no\x1b[31m room")), counts, false,
            start + seconds(30));
    const auto lines = b.lines(80, 24, start + seconds(60));
    CHECK(lines.size() <= 24);
    CHECK(lines.front().front() == '[');
    CHECK(any_has(lines, "model=m5"));
    CHECK(any_has(lines, "slowest: r.0.0 for 1:00"));
    CHECK(any_has(lines, "error: r.5.0 sandbox: no"));
    CHECK_FALSE(any_has(lines, "\x1b"));
    CHECK(any_has(lines, "more cells"));
    for (const auto& line : lines) {
        CHECK(line.size() <= 80);
    }
    CHECK(b.lines(20, 1, start + seconds(60)).size() == 1);
    CHECK(b.lines(20, 1, start + seconds(60)).front().size() <= 20);
}

TEST_CASE("one cell needs no table") {
    board b(4, start);
    b.began(*order(0, 0), start);
    CHECK(b.lines(80, 24, start).size() == 2); // the bar and the slowest run
}

TEST_CASE("a retried attempt is no error of its cell, and shows as tried again") {
    board b(2, start);
    actors::sweep_counts counts;
    counts.total = 2;
    counts.retries = 1;
    b.began(*order(0, 0, "a"), start);
    b.began(*order(1, 0, "b"), start);
    b.ended(ended(order(0, 0, "a"), outcome::error(error_class::sandbox, "no")), counts, true, start + seconds(1));
    const auto lines = b.lines(100, 24, start + seconds(1));
    CHECK(any_has(lines, "(tried again)"));
    CHECK(any_has(lines, "1 retries"));
    CHECK_FALSE(any_has(lines, "1 errors"));
}
