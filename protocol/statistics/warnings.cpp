#include "protocol/statistics/group.hpp"

#include <fmt/format.h>

namespace chalk::statistics {

namespace {

std::string runs(std::uint64_t count) {
    return count == 1 ? "1 run" : fmt::format("{} runs", count);
}

constexpr std::string_view left_out = "left out of score, pass rate, pass@k and pass^k";

void add_left_out(std::vector<std::string>& warnings, const counts& c) {
    const auto say = [&](standing where, std::string_view what, std::string_view bias) {
        if (const auto n = c.of(where); n > 0) {
            warnings.push_back(fmt::format("{} {}: {}; {}", runs(n), what, left_out, bias));
        }
    };
    say(standing::error, "ended in an error", "biased where errors meet some tasks or answers more than others");
    say(standing::sealed, "cut off or not started by seal_at",
        "the slowest runs are missing, which biases all of them "
        "where slow runs do better or worse");
    say(standing::first_pass, "not started because another run of the cell had passed",
        "score, pass rate and pass@k are biased upward, pass^k above k = 1 downward");
    say(standing::cancelled, "cancelled", "biased where it was no matter of chance which ones");
    say(standing::stopped, "not run because of a stop rule, breaker, budget or deadline",
        "biased where what stopped them has to do with how they would have done");
    const auto missing = c.of(standing::unfinished) + c.of(standing::not_started);
    if (missing > 0) {
        warnings.push_back(fmt::format("{} not finished yet: {}; quick runs come first", runs(missing), left_out));
    }
}

} // namespace

std::vector<std::string> warnings_of(const group_figures& figures, std::uint64_t repeats) {
    std::vector<std::string> warnings;
    add_left_out(warnings, figures.runs);
    if (const auto unscored = figures.runs.judged() - std::min(figures.runs.judged(), figures.scored); unscored > 0) {
        warnings.push_back(fmt::format("{} passed or failed without a score: left out of score", runs(unscored)));
    }
    const auto most = figures.pass.empty() ? 0 : figures.pass.back().cells;
    if (figures.cells > 1 && repeats > 1 &&
        (figures.pass.empty() || figures.pass.back().k < repeats || most < figures.cells)) {
        warnings.push_back(
            "pass@k and pass^k leave out cells with fewer than k judged runs: figures of different k are of "
            "different cells");
    }
    if (figures.spent.unpriced_attempts > 0) {
        warnings.push_back(fmt::format("usd leaves out {} that asked a model without a known price",
                                       figures.spent.unpriced_attempts == 1
                                           ? "1 attempt"
                                           : fmt::format("{} attempts", figures.spent.unpriced_attempts)));
    }
    if (figures.spent.unsettled_tokens > 0 || figures.spent.unsettled_usd > 0) {
        warnings.push_back(
            "tokens and usd leave out what was reserved for attempts that were never settled (unsettled): "
            "they may have spent up to that much more");
    }
    return warnings;
}

} // namespace chalk::statistics
