#include "protocol/statistics/exact_number.hpp"
#include "protocol/statistics/group.hpp"
#include "protocol/statistics/interval.hpp"
#include "protocol/statistics/pass_at_k.hpp"
#include "protocol/statistics/quantiles.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace chalk;
using namespace chalk::statistics;
using chalk::test::catch_approx;

namespace {

double exact_sum(const std::vector<double>& values) {
    exact_number sum;
    for (const double v : values) {
        sum.add(v);
    }
    return sum.rounded();
}

moments moments_of(const std::vector<double>& values) {
    moments m;
    for (const double v : values) {
        m.add(v);
    }
    return m;
}

run_standing ended(standing where, std::optional<double> score = {}, std::optional<error_class> kind = {}) {
    run_standing run;
    run.where = where;
    run.score = score;
    run.kind = kind;
    return run;
}

bool warns(const group_figures& figures, std::string_view part) {
    return std::any_of(figures.warnings.begin(), figures.warnings.end(),
                       [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

} // namespace

TEST_CASE("an exact sum is rounded once and does not depend on the order") {
    CHECK(exact_sum({}) == 0);
    CHECK(exact_sum({1e100, 1, -1e100}) == 1);
    CHECK(exact_sum(std::vector<double>(10, 0.1)) == 1.0);
    CHECK(exact_sum({0.5, -0.5}) == 0);
    // Ties go to even, but not when something small is left on one side (Python's own cases for fsum).
    CHECK(exact_sum({0x1p53, 1, 0}) == 0x1p53);
    CHECK(exact_sum({0x1p53, 1, 0x1p-60}) == 0x1p53 + 2);
    CHECK(exact_sum({0x1p53, -0.5, -0x1p-54}) == 0x1p53 - 1.0);
    std::mt19937 random(7); // NOLINT(cert-msc51-cpp)
    std::vector<double> values(500);
    for (double& v : values) {
        v = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), static_cast<int>(random() % 80));
    }
    const double once = exact_sum(values);
    for (int i = 0; i < 20; ++i) {
        std::shuffle(values.begin(), values.end(), random);
        CHECK(exact_sum(values) == once);
    }
}

TEST_CASE("exact products lose nothing") {
    const exact_number tenth(0.1);
    const auto nothing = tenth * tenth - exact_number(0.1) * exact_number(0.1);
    CHECK(nothing.rounded() == 0);
    // 0.1 * 0.1 rounds up; what it was rounded by is there.
    CHECK((tenth * tenth - exact_number(0.1 * 0.1)).rounded() == std::fma(0.1, 0.1, -(0.1 * 0.1)));
    CHECK((tenth * tenth - exact_number(0.1 * 0.1)).rounded() != 0);
}

TEST_CASE("Student's t has the points of the tables") {
    // To the digits of the usual tables, and to ten for two of them.
    const std::vector<std::pair<std::uint64_t, double>> table = {
        {1, 12.706}, {2, 4.303},  {3, 3.182},   {4, 2.776},   {9, 2.262},    {10, 2.228},
        {29, 2.045}, {30, 2.042}, {100, 1.984}, {999, 1.962}, {1000, 1.962}, {1001, 1.962}};
    for (const auto& [freedom, point] : table) {
        INFO(freedom);
        CHECK(student_t_95(freedom) == catch_approx(point).margin(0.0005));
    }
    CHECK(student_t_95(1) == catch_approx(12.7062047362).epsilon(1e-11));
    CHECK(student_t_95(5) == catch_approx(2.5705818356).epsilon(1e-10));
    // Where the closed form hands over to the expansion, they agree.
    CHECK(student_t_95(1000) - student_t_95(1001) == catch_approx(2.3736e-6).epsilon(0.01));
    CHECK(student_t_95(100'000'000) == catch_approx(normal_95).epsilon(1e-7));
}

TEST_CASE("the mean's interval is Student's, and absent for one value") {
    CHECK_FALSE(student_t(moments_of({})));
    CHECK_FALSE(student_t(moments_of({0.5})));
    const auto values = moments_of({1, 2, 3, 4, 5});
    CHECK(values.mean() == 3.0);
    CHECK(values.variance() == 2.5);
    const auto i = student_t(values);
    REQUIRE(i);
    CHECK(i->low == catch_approx(3 - 2.776445 * std::sqrt(0.5)));
    CHECK(i->high == catch_approx(3 + 2.776445 * std::sqrt(0.5)));
    CHECK(i->method == "student_t");
    CHECK(moments_of(std::vector<double>(7, 0.1)).variance() == 0.0); // exactly: no square is rounded
}

TEST_CASE("Wilson's and Newcombe's intervals have their published values") {
    // Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: 81/263, 15/148, 0/20, 1/29.
    const auto near = [](const std::optional<interval>& i, double low, double high) {
        REQUIRE(i);
        CHECK(i->low == catch_approx(low).margin(0.00005));
        CHECK(i->high == catch_approx(high).margin(0.00005));
    };
    near(wilson(81, 263), 0.2553, 0.3662);
    near(wilson(15, 148), 0.0624, 0.1605);
    near(wilson(0, 20), 0, 0.1611);
    near(wilson(1, 29), 0.0061, 0.1718);
    CHECK(wilson(20, 20)->high == 1.0);
    CHECK_FALSE(wilson(0, 0));
    // Newcombe 1998, "Interval estimation for the difference": 56/70 - 48/80, method 10.
    near(newcombe(48, 80, 56, 70), 0.0524, 0.3339);
    near(newcombe(0, 10, 10, 10), 0.6075, 1.0);
    CHECK_FALSE(newcombe(0, 0, 1, 1));
}

TEST_CASE("Welch's interval is that of the textbook") {
    const auto a =
        moments_of({27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4});
    const auto b =
        moments_of({27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 25.0});
    const auto i = welch(a, b);
    REQUIRE(i);
    // By Python's statistics.variance the difference is 2.884665 errors, with 27.9 degrees of freedom; 27 of them make
    // the half width 2.05183 errors.
    const double difference = *b.mean() - *a.mean();
    CHECK((i->low + i->high) / 2 == catch_approx(difference));
    CHECK((i->high - i->low) / 2 == catch_approx(2.05183 * difference / 2.884665).epsilon(1e-6));
    CHECK(welch(moments_of({1, 1}), moments_of({2, 2}))->low == 1.0);
    CHECK_FALSE(welch(moments_of({1}), b));
}

TEST_CASE("clusters that agree inside widen the interval to that of their means") {
    clustered_mean mean;
    CHECK_FALSE(mean.student_t());
    mean.add_cluster(moments_of({}));
    for (const double v : {0.2, 0.4, 0.9}) {
        mean.add_cluster(moments_of({v, v, v, v}));
    }
    CHECK(mean.clusters() == 3);
    const auto by_cluster = mean.student_t();
    const auto of_means = student_t(moments_of({0.2, 0.4, 0.9}));
    REQUIRE(by_cluster);
    CHECK(*mean.mean() == catch_approx(0.5));
    CHECK(by_cluster->low == catch_approx(of_means->low));
    CHECK(by_cluster->high == catch_approx(of_means->high));
    CHECK(by_cluster->method == "student_t_clustered");
}

TEST_CASE("pass@k and pass^k count subsets") {
    // n = 5, c = 2, k = 2: 3 of the 10 pairs have no pass, 1 has two.
    CHECK(pass_at_k(5, 2, 2) == catch_approx(0.7));
    CHECK(pass_hat_k(5, 2, 2) == catch_approx(0.1));
    CHECK(pass_at_k(5, 0, 3) == 0);
    CHECK(pass_at_k(5, 3, 3) == 1);
    CHECK(pass_hat_k(5, 5, 5) == 1);
    CHECK(pass_hat_k(5, 4, 5) == 0);
    CHECK(pass_at_k(4, 1, 1) == 0.25);
    CHECK(pass_at_k(2000, 1, 1000) == catch_approx(0.5)); // C(2000, 1000) is no double
}

TEST_CASE("each small k is reported, then round ones, and the number of repeats") {
    CHECK(reported_k(1) == std::vector<std::uint64_t>{1});
    CHECK(reported_k(4) == std::vector<std::uint64_t>{1, 2, 3, 4});
    CHECK(reported_k(10) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK(reported_k(60) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 60});
}

TEST_CASE("a quantile is the nearest rank") {
    quantiles q;
    for (std::uint64_t v = 1; v <= 20; ++v) {
        q.add(v * 10);
    }
    CHECK(q.at(50) == 100);
    CHECK(q.at(95) == 190);
    quantiles other;
    other.add(5);
    CHECK(other.at(50) == 5);
    CHECK(other.at(95) == 5);
    q.add(other);
    CHECK(q.count() == 21);
    CHECK(q.at(1) == 5);
}

TEST_CASE("what has no verdict is left out of the scores and said") {
    cell_group cell;
    cell.add_run(ended(standing::passed, 1.0));
    cell.add_run(ended(standing::failed, 0.5));
    CHECK(cell.figures(2).warnings.empty());
    cell.add_run(ended(standing::error, {}, error_class::model));
    cell.add_run(ended(standing::sealed));
    cell.add_run(ended(standing::cancelled));
    cell.add_run(ended(standing::first_pass));
    cell.add_run(ended(standing::stopped));
    cell.add_run(ended(standing::unfinished));
    cell.add_not_started(2);
    const auto f = cell.figures(10);
    CHECK(f.runs.total() == 10);
    CHECK(f.runs.judged() == 2);
    CHECK(f.runs.errors.at(static_cast<std::size_t>(error_class::model)) == 1);
    CHECK(f.score == 0.75);
    CHECK(f.scored == 2);
    CHECK(f.pass_rate == 0.5);
    REQUIRE(f.pass.size() == 2);
    CHECK(f.pass[1].at == 1);
    CHECK(f.pass[1].hat == 0);
    CHECK(f.warnings.size() == 6);
    CHECK(warns(f, "1 run ended in an error"));
    CHECK(warns(f, "seal_at"));
    CHECK(warns(f, "biased upward"));
    CHECK(warns(f, "1 run cancelled"));
    CHECK(warns(f, "3 runs not finished yet"));
}

TEST_CASE("a sweep's figures are the same in whatever order its cells come") {
    std::mt19937 random(11); // NOLINT(cert-msc51-cpp)
    std::vector<cell_group> cells(40);
    for (auto& cell : cells) {
        for (int i = 0; i < 5; ++i) {
            const double score = std::uniform_real_distribution<double>(0, 1)(random);
            cell.add_run(ended(score > 0.5 ? standing::passed : standing::failed, score));
            journal::attempt_ended attempt;
            attempt.spent = {{3, 1, 2, 0}, score / 7};
            cell.add_attempt(attempt);
        }
    }
    const auto figures = [&] {
        sweep_group sweep(5);
        for (const auto& cell : cells) {
            sweep.add_cell(cell);
        }
        return sweep.figures();
    };
    const auto once = figures();
    CHECK(once.cells == 40);
    CHECK(once.scored == 200);
    CHECK(once.spent.tokens.input == 600);
    CHECK(once.score_interval->method == "student_t_clustered");
    CHECK(once.pass_interval->method == "student_t_clustered");
    CHECK(once.pass.size() == 5);
    CHECK(once.pass[0].at == catch_approx(*once.pass_rate));
    for (int i = 0; i < 5; ++i) {
        std::shuffle(cells.begin(), cells.end(), random);
        const auto again = figures();
        CHECK(again.score == once.score);
        CHECK(again.score_interval->low == once.score_interval->low);
        CHECK(again.pass_interval->high == once.pass_interval->high);
        CHECK(again.pass[2].at == once.pass[2].at);
        CHECK(again.spent.usd == once.spent.usd);
    }
}

TEST_CASE("a sweep of which every run passed has Wilson's interval, not one without width") {
    sweep_group sweep(2);
    for (int i = 0; i < 3; ++i) {
        cell_group cell;
        cell.add_run(ended(standing::passed, 1.0));
        cell.add_run(ended(standing::passed, 1.0));
        sweep.add_cell(cell);
    }
    const auto f = sweep.figures();
    CHECK(f.pass_interval->method == "wilson");
    CHECK(f.pass_interval->low < 0.7);
    CHECK(f.warnings.empty());
}

TEST_CASE("spending that is not known is said beside what is") {
    cell_group cell;
    journal::attempt_ended attempt;
    attempt.spent = {{10, 0, 5, 0}, std::nullopt};
    cell.add_attempt(attempt);
    attempt.spent = {{10, 0, 5, 0}, 0.25};
    attempt.charged = journal::charge{100, 1.0};
    attempt.means = journal::verdict::lost;
    cell.add_attempt(attempt);
    cell.add_open({{1, 0, 1, 0}, 0.5});
    const auto f = cell.figures(1);
    CHECK(f.spent.tokens.output == 11);
    CHECK(f.spent.usd == 0.75);
    CHECK(f.spent.unpriced_attempts == 1);
    CHECK(f.spent.unsettled_tokens == 85);
    CHECK(f.spent.unsettled_usd == 0.75);
    CHECK(f.runs.attempts == 2);
    CHECK(f.runs.lost == 1);
    CHECK(warns(f, "1 attempt that asked"));
    CHECK(warns(f, "never settled"));
}
