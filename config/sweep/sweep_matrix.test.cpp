#include "config/sweep/sweep_matrix.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <set>

using namespace chalk;
using namespace chalk::config;

namespace {

sweep_axis axis(const std::string& key, const std::vector<json>& values) {
    sweep_axis made{key, {}};
    for (const auto& value : values) {
        made.values.push_back({{key, value}});
    }
    return made;
}

sweep_axis numbers(const std::string& key, int n) {
    std::vector<json> values;
    for (int i = 0; i < n; ++i) {
        values.emplace_back(i);
    }
    return axis(key, values);
}

bool matches(const sweep_filter& filter, const std::vector<std::size_t>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
        if (filter.allowed[i] && !(*filter.allowed[i])[indices[i]]) {
            return false;
        }
    }
    return true;
}

/// The rule itself, combination by combination.
std::vector<std::uint64_t> kept_plainly(const sweep_matrix& matrix, const std::vector<sweep_filter>& include,
                                        const std::vector<sweep_filter>& exclude) {
    std::vector<std::uint64_t> kept;
    for (std::uint64_t i = 0; i < matrix.combinations(); ++i) {
        const auto indices = matrix.indices_of(i);
        const auto any = [&](const auto& filters) {
            return std::any_of(filters.begin(), filters.end(), [&](const auto& f) { return matches(f, indices); });
        };
        if ((include.empty() || any(include)) && !any(exclude)) {
            kept.push_back(i);
        }
    }
    return kept;
}

std::vector<std::uint64_t> walked(const sweep_matrix& matrix) {
    std::vector<std::uint64_t> kept;
    for (auto at = matrix.next_kept(0); at; at = matrix.next_kept(*at + 1)) {
        kept.push_back(*at);
    }
    return kept;
}

} // namespace

TEST_CASE("the last axis moves fastest, and each combination is there once") {
    const auto matrix = sweep_matrix::make({axis("model", {"a", "b"}), numbers("task_args.level", 3)}, {}, {}).value();
    CHECK(matrix.combinations() == 6);
    CHECK(matrix.count_kept() == 6);
    CHECK(matrix.at(0).assignment == json{{"model", "a"}, {"task_args.level", 0}});
    CHECK(matrix.at(1).assignment == json{{"model", "a"}, {"task_args.level", 1}});
    CHECK(matrix.at(5).assignment == json{{"model", "b"}, {"task_args.level", 2}});
    CHECK(matrix.next_kept(5) == 5);
    CHECK(matrix.next_kept(6) == std::nullopt);
}

TEST_CASE("a sweep without axes is one cell, the base") {
    const sweep_matrix matrix;
    CHECK(matrix.combinations() == 1);
    CHECK(matrix.at(0).label == "base");
    CHECK(matrix.at(0).id == "44136fa355b3678a"); // of {}
    CHECK(matrix.next_kept(0) == 0);
    CHECK(matrix.next_kept(1) == std::nullopt);
}

TEST_CASE("a cell keeps its id when values, axes' order and other cells change") {
    const auto one = sweep_matrix::make({axis("model", {"a", "b"}), axis("task", {"x"})}, {}, {}).value();
    const auto other = sweep_matrix::make({axis("task", {"w", "x"}), axis("model", {"0", "b"})}, {}, {}).value();
    REQUIRE(one.at(1).assignment == other.at(3).assignment);
    CHECK(one.at(1).id == other.at(3).id);
    CHECK(one.at(1).id.size() == 16);
    CHECK(one.at(0).id != one.at(1).id);
    CHECK(one.at(1).id == "a8dfddbe414c48c9");
}

TEST_CASE("a label says what sets the cell apart, on one line and not too long") {
    const auto label = [](std::vector<sweep_axis> axes) {
        return sweep_matrix::make(std::move(axes), {}, {}).value().at(0).label;
    };
    CHECK(label({axis("model", {"openai/x"}), axis("task", {"a"})}) == "model=openai/x task=a");
    CHECK(label({axis("task_args.text", {"two\nlines"})}) == "task_args.text=\"two\\nlines\"");
    CHECK(label({axis("task", {""})}) == "task=\"\"");
    CHECK(label({axis("limits.max_turns", {nullptr})}) == "limits.max_turns=null");
    CHECK(label({{"pair", {json{{"agent", "codex"}, {"model", "m"}}}}}) == "agent=codex model=m");
    const auto shortened = label({axis("task", {std::string(500, 'x')})});
    CHECK(shortened.size() == 65);
    CHECK(shortened.ends_with("x..."));
    std::string accents;
    for (int i = 0; i < 100; ++i) {
        accents += "\xc3\xa4";
    }
    CHECK(dump_json(json(label({axis("task", {accents})}))).find("\xef\xbf\xbd") == std::string::npos);
}

TEST_CASE("ten million cells are counted and walked without being written down") {
    const auto matrix = sweep_matrix::make({numbers("a", 1'000), numbers("b", 100), numbers("c", 100)}, {}, {}).value();
    CHECK(matrix.combinations() == 10'000'000);
    CHECK(matrix.next_kept(9'999'999) == 9'999'999);
    CHECK(matrix.at(9'999'999).assignment == json{{"a", 999}, {"b", 99}, {"c", 99}});
}

TEST_CASE("filters on a trillion combinations are counted by blocks") {
    std::vector<sweep_axis> axes;
    for (int i = 0; i < 12; ++i) {
        axes.push_back(numbers(std::string(1, static_cast<char>('a' + i)), 10));
    }
    sweep_filter last_is_seven;
    last_is_seven.allowed.resize(12);
    last_is_seven.allowed[11] = std::vector<bool>(10, false);
    (*last_is_seven.allowed[11])[7] = true;
    sweep_filter first_is_nine;
    first_is_nine.allowed.resize(12);
    first_is_nine.allowed[0] = std::vector<bool>(10, false);
    (*first_is_nine.allowed[0])[9] = true;

    const auto excluded = sweep_matrix::make(axes, {}, {last_is_seven}).value();
    CHECK(excluded.count_kept() == 900'000'000'000);
    CHECK(excluded.next_kept(7) == 8);
    const auto included = sweep_matrix::make(axes, {first_is_nine}, {last_is_seven}).value();
    CHECK(included.count_kept() == 90'000'000'000);
    CHECK(included.next_kept(0) == 900'000'000'000);
    CHECK_FALSE(included.keeps(0));
    CHECK(included.keeps(900'000'000'000));
}

TEST_CASE("filters keep what their rule says, for many random ones") {
    std::mt19937 random(1); // NOLINT: the same every time
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    std::set<std::size_t> sizes;
    for (int round = 0; round < 300; ++round) {
        const std::vector<sweep_axis> axes = {numbers("a", 3), numbers("b", 1), numbers("c", 4), numbers("d", 2)};
        const auto filters = [&] {
            std::vector<sweep_filter> made(random() % 4);
            for (auto& filter : made) {
                filter.allowed.resize(axes.size());
                for (std::size_t i = 0; i < axes.size(); ++i) {
                    if (chance(60)) {
                        filter.allowed[i].emplace(axes[i].values.size());
                        for (auto&& bit : *filter.allowed[i]) {
                            bit = chance(60);
                        }
                    }
                }
            }
            return made;
        };
        const auto include = filters();
        const auto exclude = filters();
        const auto matrix = sweep_matrix::make(axes, include, exclude).value();
        const auto expected = kept_plainly(matrix, include, exclude);
        CHECK(walked(matrix) == expected);
        CHECK(matrix.count_kept() == expected.size());
        for (std::uint64_t i = 0; i < matrix.combinations(); ++i) {
            CHECK(matrix.keeps(i) == std::binary_search(expected.begin(), expected.end(), i));
        }
        sizes.insert(expected.size());
    }
    CHECK(sizes.size() > 10); // the rounds were not all alike
}

TEST_CASE("more combinations than a number holds are refused") {
    std::vector<sweep_axis> axes;
    for (int i = 0; i < 19; ++i) {
        axes.push_back(numbers("k" + std::to_string(i), 10));
    }
    const auto refused = sweep_matrix::make(axes, {}, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("2^62") != std::string::npos);
    axes.pop_back();
    CHECK(sweep_matrix::make(axes, {}, {}).value().combinations() == 1'000'000'000'000'000'000);
}
