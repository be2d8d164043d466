#include "actors/cluster/result_sheet.hpp"

#include "protocol/core/json_text.hpp"
#include "tests/support/catch.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

/// Values as they may come, with the ends of their ranges more often than chance would have them.
class result_maker {
  public:
    explicit result_maker(std::uint64_t seed) : random_(seed) {}

    run_result make() {
        run_result made;
        made.how.status = static_cast<outcome_status>(below(outcome_status_names.size()));
        if (made.how.status == outcome_status::error) {
            made.how.kind = static_cast<error_class>(below(error_class_names.size()));
        }
        made.how.message = words();
        made.score = maybe([this] { return number(); });
        made.duration = maybe([this] { return span(); });
        made.step_scores.resize(below(4));
        for (auto& score : made.step_scores) {
            score = maybe([this] { return number(); });
        }
        made.spent.tokens = {count(), count(), count(), count()};
        made.spent.usd = maybe([this] { return std::abs(number()); });
        for (auto* stage : {&made.took.prepare, &made.took.setup, &made.took.agent, &made.took.score,
                            &made.took.teardown, &made.took.whole}) {
            *stage = maybe([this] { return span(); });
        }
        made.withdrawn = below(2) == 0;
        made.node_was_short = below(2) == 0;
        made.has_transcript = below(2) == 0;
        made.remark = words();
        return made;
    }

  private:
    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    template<class Make>
    auto maybe(Make make) -> std::optional<decltype(make())> {
        return below(3) == 0 ? std::nullopt : std::optional(make());
    }
    double number() {
        static constexpr double ends[] = {
            0.0,    -0.0, 1.0, 0.1, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min(),
            1.0 / 3};
        const auto bits = std::bit_cast<double>(random_());
        return below(2) == 0 || !std::isfinite(bits) ? ends[below(std::size(ends))] : bits;
    }
    milliseconds span() {
        const auto most = std::int64_t{1} << 53U;
        const std::int64_t ends[] = {0, 1, -1, most, -most, static_cast<std::int64_t>(below(1'000'000'000))};
        return milliseconds(ends[below(std::size(ends))]);
    }
    std::uint64_t count() {
        const std::uint64_t ends[] = {0, 1, std::numeric_limits<std::int64_t>::max(), random_() >> 1U};
        return ends[below(std::size(ends))];
    }
    std::string words() {
        static const std::string parts[] = {
            "", "plain", "\"quoted\"\n", std::string("\0\x01\x7f", 3), "ü€😀", std::string(60'000, 'x')};
        return parts[below(std::size(parts))] + parts[below(5)];
    }
    std::mt19937_64 random_;
};

/// Bit by bit: -0.0 is not 0.0.
bool same_numbers(const std::vector<std::optional<double>>& a, const std::vector<std::optional<double>>& b) {
    const auto bits = [](const std::optional<double>& x) {
        return x ? std::optional(std::bit_cast<std::uint64_t>(*x)) : std::nullopt;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const auto& x, const auto& y) { return bits(x) == bits(y); });
}

void check_same_result(const run_result& a, const run_result& b) {
    CHECK(a.how == b.how);
    CHECK(same_numbers({a.score, a.spent.usd}, {b.score, b.spent.usd}));
    CHECK(a.duration == b.duration);
    CHECK(same_numbers(a.step_scores, b.step_scores));
    CHECK(a.spent.tokens.input == b.spent.tokens.input);
    CHECK(a.spent.tokens.cached == b.spent.tokens.cached);
    CHECK(a.spent.tokens.output == b.spent.tokens.output);
    CHECK(a.spent.tokens.reasoning == b.spent.tokens.reasoning);
    CHECK(a.took == b.took);
    CHECK(a.withdrawn == b.withdrawn);
    CHECK(a.node_was_short == b.node_was_short);
    CHECK(a.has_transcript == b.has_transcript);
    CHECK(a.remark == b.remark);
}

run_result through_text(const run_result& what) {
    const auto text = result_sheet_text(what);
    CHECK(text.size() <= largest_result_sheet.count);
    auto read = read_result_sheet(text, what.order);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    return std::move(*read);
}

} // namespace

TEST_CASE("a result comes back in every field as it was told", "[result_sheet]") {
    check_same_result(through_text({}), {});
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        INFO("seed " << seed);
        const auto made = result_maker(seed).make();
        check_same_result(through_text(made), made);
    }
    const auto order = std::make_shared<const run_order>();
    CHECK(read_result_sheet(result_sheet_text({}), order)->order == order);
}

TEST_CASE("a number that is none does not come through, nor does one that no journal takes", "[result_sheet]") {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, infinity, -infinity}) {
        run_result made;
        made.score = bad;
        made.spent.usd = bad;
        made.step_scores = {0.5, bad};
        const auto read = through_text(made);
        CHECK_FALSE(read.score);
        CHECK_FALSE(read.spent.usd);
        CHECK(read.step_scores == std::vector<std::optional<double>>{0.5, std::nullopt});
    }
    run_result made;
    made.spent.usd = -0.5;
    made.spent.tokens.input = std::numeric_limits<std::uint64_t>::max();
    made.duration = milliseconds::min();
    made.took.whole = milliseconds::max();
    made.step_scores.resize(most_result_steps + 1);
    const auto read = through_text(made);
    CHECK_FALSE(read.spent.usd);
    CHECK(read.spent.tokens.input == std::numeric_limits<std::int64_t>::max());
    CHECK(read.duration == -milliseconds(std::int64_t{1} << 53U));
    CHECK(read.took.whole == milliseconds(std::int64_t{1} << 53U));
    CHECK(read.step_scores.size() == most_result_steps);
}

TEST_CASE("long words are cut where a character ends, and words that are no UTF-8 are made it", "[result_sheet]") {
    for (std::size_t lead = 0; lead < 4; ++lead) {
        run_result made;
        made.how = outcome::cancelled(std::string(lead, 'a'));
        while (made.how.message.size() <= most_result_words) {
            made.how.message += "😀";
        }
        made.remark = std::string(most_result_words, '\xff'); // each becomes three bytes
        const auto read = through_text(made);
        CHECK(read.how.message.size() <= most_result_words);
        CHECK(read.how.message.size() > most_result_words - 7);
        CHECK(read.how.message.ends_with("😀..."));
        CHECK(made.how.message.starts_with(read.how.message.substr(0, read.how.message.size() - 3)));
        CHECK(read.remark.size() <= most_result_words);
        CHECK(to_valid_utf8(read.remark) == read.remark);
    }
    run_result made;
    made.remark = std::string(most_result_words, 'r');
    CHECK(through_text(made).remark == made.remark);
    // The longest text that there is.
    made.remark = made.how.message = std::string(most_result_words, '\x01');
    made.step_scores.assign(most_result_steps, -std::numeric_limits<double>::denorm_min());
    CHECK(through_text(made).remark == made.remark);
}

TEST_CASE("a result that is not as a node writes it is refused with its path", "[result_sheet]") {
    const auto refusal = [](const std::string& pointer, const json& value) {
        auto sheet = json::parse(result_sheet_text({}));
        sheet[json::json_pointer(pointer)] = value;
        const auto read = read_result_sheet(sheet.dump(), nullptr);
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::harness);
        return read.error().message;
    };
    CHECK(refusal("/sheet", 2).find(": sheet: expected a whole number from 1 to 1") != std::string::npos);
    CHECK(refusal("/more", 1).find(": more: unknown key") != std::string::npos);
    CHECK(refusal("/outcome/status", "won").find(": outcome.status: expected passed") != std::string::npos);
    CHECK(refusal("/outcome/class", "task").find(": outcome.class: an error has one") != std::string::npos);
    CHECK(refusal("/outcome/class", "bad luck").find(": outcome.class: there is no") != std::string::npos);
    CHECK(refusal("/outcome/status", "error").find(": outcome.class: an error has one") != std::string::npos);
    CHECK(refusal("/outcome/message", std::string(most_result_words + 1, 'x')).find("at most 65536 bytes") !=
          std::string::npos);
    CHECK(refusal("/spent/usd", -1).find(": spent.usd: expected a number from 0") != std::string::npos);
    CHECK(refusal("/spent/tokens/input", -1).find(": spent.tokens.input: ") != std::string::npos);
    CHECK(refusal("/spent/tokens/cached", 9'223'372'036'854'775'808U).find("spent.tokens.cached") != std::string::npos);
    CHECK(refusal("/took_ms/setup", 0.5).find(": took_ms.setup: ") != std::string::npos);
    CHECK(refusal("/step_scores", json::array({1, "1"})).find(": step_scores[1]: ") != std::string::npos);
    CHECK(refusal("/step_scores", std::vector<int>(most_result_steps + 1)).find("at most 10000") != std::string::npos);
    CHECK(refusal("/score", "NaN").find(": score: expected a number") != std::string::npos);
    const auto nothing = read_result_sheet("", nullptr);
    CHECK(nothing.has_error());
    CHECK(read_result_sheet(std::string(largest_result_sheet.count + 1, ' '), nullptr).has_error());
}
