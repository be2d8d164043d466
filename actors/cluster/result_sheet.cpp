#include "actors/cluster/result_sheet.hpp"

#include "config/sweep/sweep_matrix.hpp"
#include "protocol/core/strict_object.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace chalk::actors {

namespace {

constexpr std::uint64_t result_sheet_version = 1;
constexpr milliseconds longest_told{std::int64_t{1} << 53U};
constexpr double largest_score = std::numeric_limits<double>::max();
constexpr std::uint64_t most_tokens_told = std::numeric_limits<std::int64_t>::max();

json as_told(const std::optional<milliseconds>& span) {
    return span ? json(std::clamp(*span, -longest_told, longest_told).count()) : json();
}

json as_told(const std::optional<double>& number, double least) {
    return number && std::isfinite(*number) && *number >= least ? json(*number) : json();
}

std::string as_told(const std::string& words) {
    return config::shortened(to_valid_utf8(words), most_result_words);
}

/// One list of fields for both directions.
template<class Tokens, class Visit>
void every_token_count(Tokens& t, Visit visit) {
    visit("input", t.input);
    visit("cached", t.cached);
    visit("output", t.output);
    visit("reasoning", t.reasoning);
}

template<class Durations, class Visit>
void every_stage_told(Durations& d, Visit visit) {
    visit("prepare", d.prepare);
    visit("setup", d.setup);
    visit("agent", d.agent);
    visit("score", d.score);
    visit("teardown", d.teardown);
    visit("whole", d.whole);
}

json outcome_told(const outcome& how) {
    json out = {{"status", to_string(how.status)}, {"class", nullptr}, {"message", as_told(how.message)}};
    if (how.status == outcome_status::error) {
        out["class"] = to_string(how.kind.value_or(error_class::harness));
    }
    return out;
}

void read_outcome_told(strict_object& from, outcome& how) {
    constexpr std::size_t longest_name = 20;
    std::string status;
    std::optional<std::string> kind;
    from.read("status", status, longest_name);
    from.read("class", kind, longest_name);
    from.read("message", how.message, most_result_words);
    const auto known = parse_outcome_status(status);
    if (!known) {
        return from.refuse("status", "expected passed, failed, error or cancelled");
    }
    how.status = *known;
    how.kind = kind ? parse_error_class(*kind) : std::nullopt;
    if (kind && !how.kind) {
        from.refuse("class", "there is no such class of errors");
    } else if (how.kind.has_value() != (how.status == outcome_status::error)) {
        from.refuse("class", "an error has one, and nothing else does");
    }
}

void read_spent_told(strict_object& from, journal::spending& spent) {
    from.read_object("tokens", [&](strict_object& tokens) {
        every_token_count(spent.tokens, [&](const char* name, std::uint64_t& count) {
            tokens.read(name, count, 0, most_tokens_told);
        });
    });
    from.read("usd", spent.usd, 0.0, largest_score);
}

json spent_told(const journal::spending& spent) {
    json tokens = json::object();
    every_token_count(spent.tokens,
                      [&](const char* name, std::uint64_t count) { tokens[name] = std::min(count, most_tokens_told); });
    return {{"tokens", std::move(tokens)}, {"usd", as_told(spent.usd, 0)}};
}

} // namespace

std::string spending_sheet_text(const journal::spending& spent) {
    return dump_json(spent_told(spent));
}

result<journal::spending> read_spending_sheet(std::string_view text) {
    constexpr bytes largest_spending_sheet = 4_KiB;
    journal::spending spent;
    auto read = read_strictly(text, largest_spending_sheet, "what a run has spent",
                              [&](strict_object& top) { read_spent_told(top, spent); });
    if (!read) {
        return read.error();
    }
    return spent;
}

std::string result_sheet_text(const run_result& what) {
    json took = json::object();
    every_stage_told(what.took,
                     [&](const char* name, const std::optional<milliseconds>& span) { took[name] = as_told(span); });
    json scores = json::array();
    for (std::size_t i = 0; i < std::min(what.step_scores.size(), most_result_steps); ++i) {
        scores.push_back(as_told(what.step_scores[i], -largest_score));
    }
    return dump_json({{"sheet", result_sheet_version},
                      {"outcome", outcome_told(what.how)},
                      {"score", as_told(what.score, -largest_score)},
                      {"duration_ms", as_told(what.duration)},
                      {"step_scores", std::move(scores)},
                      {"spent", spent_told(what.spent)},
                      {"took_ms", std::move(took)},
                      {"withdrawn", what.withdrawn},
                      {"node_was_short", what.node_was_short},
                      {"has_transcript", what.has_transcript},
                      {"remark", as_told(what.remark)}});
}

result<run_result> read_result_sheet(std::string_view text, order_ptr order) {
    run_result what;
    auto read = read_strictly(text, largest_result_sheet, "the result of a run", [&](strict_object& top) {
        auto version = result_sheet_version;
        top.read("sheet", version, result_sheet_version, result_sheet_version);
        top.read_object("outcome", [&](strict_object& how) { read_outcome_told(how, what.how); });
        top.read("score", what.score, -largest_score, largest_score);
        top.read("duration_ms", what.duration, -longest_told, longest_told);
        top.read_numbers("step_scores", what.step_scores, most_result_steps, -largest_score, largest_score);
        top.read_object("spent", [&](strict_object& spent) { read_spent_told(spent, what.spent); });
        top.read_object("took_ms", [&](strict_object& took) {
            every_stage_told(what.took, [&](const char* name, std::optional<milliseconds>& span) {
                took.read(name, span, -longest_told, longest_told);
            });
        });
        top.read("withdrawn", what.withdrawn);
        top.read("node_was_short", what.node_was_short);
        top.read("has_transcript", what.has_transcript);
        top.read("remark", what.remark, most_result_words);
    });
    if (!read) {
        return read.error();
    }
    what.order = std::move(order);
    return what;
}

} // namespace chalk::actors
