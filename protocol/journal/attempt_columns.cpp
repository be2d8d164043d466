#include "protocol/journal/attempt_columns.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/journal/row_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::journal {

namespace {

// The place of each column in attempt_columns(); `token` is the first of two.
enum column : int {
    run,
    attempt,
    cell,
    repeat,
    id,
    session,
    node,
    started,
    seed,
    reserved_tokens,
    reserved_usd,
    input,
    cached,
    output,
    reasoning,
    usd,
    ended,
    means,
    status,
    kind,
    message,
    score,
    step_scores,
    charged_tokens,
    charged_usd,
    prepare,
    setup,
    agent,
    scoring,
    teardown,
    whole,
    transcript,
    token
};

std::optional<milliseconds> span_at(const statement& row, int at) {
    return row.is_null(at) ? std::nullopt : std::optional<milliseconds>(row.integer(at));
}

std::optional<std::vector<std::optional<double>>> scores_of(const std::string& text) {
    const auto list = parse_json(text);
    if (!list || !list->is_array()) {
        return std::nullopt;
    }
    std::vector<std::optional<double>> scores;
    for (const auto& one : *list) {
        if (!one.is_null() && !one.is_number()) {
            return std::nullopt;
        }
        scores.push_back(one.is_null() ? std::nullopt : std::optional<double>(one.get<double>()));
    }
    return scores;
}

/// False when a name or list is none that chalk writes.
bool read_end(const statement& row, const spending& spent, attempt_ended& into) {
    const auto means_name = row.text(means);
    const auto found = std::find(verdict_names.begin(), verdict_names.end(), means_name);
    auto how = outcome_at(row, status);
    auto steps = scores_of(row.text(step_scores));
    if (found == verdict_names.end() || !how || !steps) {
        return false;
    }
    into.at = time_of(row.integer(ended));
    into.how = std::move(*how);
    into.score = real_at(row, score);
    into.step_scores = std::move(*steps);
    into.spent = spent;
    into.charged = charge{row.number(charged_tokens), row.real(charged_usd)};
    into.took = {span_at(row, prepare), span_at(row, setup),    span_at(row, agent),
                 span_at(row, scoring), span_at(row, teardown), span_at(row, whole)};
    into.transcript = row.text(transcript);
    into.means = static_cast<verdict>(found - verdict_names.begin());
    return true;
}

} // namespace

std::string_view attempt_columns() noexcept {
    return "run, attempt, cell, repeat, run_id, session, node, started_ms, seed, reserved_tokens, reserved_usd, input, "
           "cached, output, reasoning, usd, ended_ms, verdict, status, class, message, score, step_scores, "
           "charged_tokens, charged_usd, prepare_ms, setup_ms, agent_ms, score_ms, teardown_ms, whole_ms, transcript, "
           "token_epoch, token_count";
}

result<read_row> read_attempt(const statement& row, const std::filesystem::path& file) {
    read_row read;
    const auto bad = [&] {
        return damaged(file, fmt::format("attempt {} of run {} holds what chalk does not write", row.integer(attempt),
                                         row.number(run)));
    };
    auto name = run_id::parse(row.text(id));
    if (!name) {
        return bad();
    }
    auto& s = read.row.started;
    s.run = run_number{row.number(run)};
    s.attempt = static_cast<attempt_number>(row.integer(attempt));
    s.cell = cell_number{row.number(cell)};
    s.repeat = row.number(repeat);
    s.id = std::move(*name);
    s.node = row.text(node);
    s.token = token_at(row, token);
    s.at = time_of(row.integer(started));
    s.seed = row.number(seed);
    s.reserved = {row.number(reserved_tokens), row.real(reserved_usd)};
    read.session = row.integer(session);
    read.row.noted = spending_at(row, input);
    if (!row.is_null(means)) {
        auto& end = read.row.ended.emplace();
        end.run = s.run;
        end.attempt = s.attempt;
        if (!read_end(row, read.row.noted, end)) {
            return bad();
        }
    }
    return read;
}

} // namespace chalk::journal
