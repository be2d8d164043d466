#include "protocol/journal/writer.hpp"

#include "protocol/journal/row_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace chalk::journal {

namespace {

constexpr std::string_view open_sweep_sql =
    "INSERT INTO sweep (id, session, opened_ms, name, seed, file_text, file_digest, document, prices_digest, repeats, "
    "cells, total_runs) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

constexpr std::string_view describe_cell_sql =
    "INSERT INTO cell (number, id, label, axis_values, config_digest, environment_digest, image_digest) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)";

// No attempt starts at a closed run, beside an open attempt, or out of order. Asked by itself: an INSERT that read its
// own table would build a temporary one each time.
constexpr std::string_view may_start_sql =
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM closed WHERE run = ?1) "
    "AND ?2 = 1 + coalesce((SELECT CASE WHEN verdict IS NULL THEN -2 ELSE attempt END FROM attempt WHERE run = ?1 "
    "ORDER BY attempt DESC LIMIT 1), 0)";

constexpr std::string_view start_sql =
    "INSERT INTO attempt (run, attempt, cell, repeat, run_id, session, node, started_ms, seed, reserved_tokens, "
    "reserved_usd, token_epoch, token_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

// max() of several values is null when one of them is: an unknown price stays unknown, an open attempt uncharged.
constexpr std::string_view note_sql =
    "UPDATE attempt SET input = max(input, ?3), cached = max(cached, ?4), output = max(output, ?5), "
    "reasoning = max(reasoning, ?6), usd = max(usd, ?7), "
    "charged_tokens = max(charged_tokens, max(input, ?3) + max(output, ?5)), "
    "charged_usd = max(charged_usd, coalesce(max(usd, ?7), 0)) WHERE run = ?1 AND attempt = ?2";

constexpr std::string_view end_sql =
    "UPDATE attempt SET input = max(input, ?3), cached = max(cached, ?4), output = max(output, ?5), "
    "reasoning = max(reasoning, ?6), usd = max(usd, ?7), "
    "charged_tokens = max(?8, max(input, ?3) + max(output, ?5)), "
    "charged_usd = max(?9, coalesce(max(usd, ?7), 0)), "
    "ended_ms = ?10, verdict = ?11, status = ?12, class = ?13, message = ?14, score = ?15, step_scores = ?16, "
    "transcript = ?17, prepare_ms = ?18, setup_ms = ?19, agent_ms = ?20, score_ms = ?21, teardown_ms = ?22, "
    "whole_ms = ?23 WHERE run = ?1 AND attempt = ?2 AND ended_ms IS NULL";

// No row beside an open attempt: its end would come after the run's.
constexpr std::string_view close_sql =
    "INSERT INTO closed (run, closed_ms, attempt, why, message) SELECT ?1, ?2, ?3, ?4, ?5 "
    "WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE run = ?1 AND verdict IS NULL) "
    "AND (?3 IS NULL OR EXISTS (SELECT 1 FROM attempt WHERE run = ?1 AND attempt = ?3 AND verdict <> 'lost')) "
    "ON CONFLICT (run) DO NOTHING";

constexpr std::string_view keep_closing_sql =
    "INSERT INTO requeue (run, requeued_ms, message, last_attempt, closed_ms, closed_attempt, closed_why, "
    "closed_message) SELECT run, ?2, ?3, coalesce((SELECT max(attempt) FROM attempt WHERE run = ?1), 0), closed_ms, "
    "attempt, why, message FROM closed WHERE run = ?1";

std::string scores_text(const std::vector<std::optional<double>>& scores) {
    json list = json::array();
    for (const auto& score : scores) {
        list.push_back(score ? json(*score) : json(nullptr));
    }
    return list.dump();
}

std::optional<std::int64_t> count_of(const std::optional<milliseconds>& span) {
    return span ? std::optional<std::int64_t>(span->count()) : std::nullopt;
}

} // namespace

result<writer> writer::make(database& journal, std::int64_t session) {
    writer made(journal, session);
    const std::pair<statement*, std::string_view> wanted[] = {
        {&made.begin_, "BEGIN IMMEDIATE"},
        {&made.commit_, "COMMIT"},
        {&made.roll_back_, "ROLLBACK"},
        {&made.open_sweep_, open_sweep_sql},
        {&made.describe_cell_, describe_cell_sql},
        {&made.may_start_, may_start_sql},
        {&made.start_, start_sql},
        {&made.note_, note_sql},
        {&made.end_, end_sql},
        {&made.close_, close_sql},
        {&made.keep_closing_, keep_closing_sql},
        {&made.reopen_, "DELETE FROM closed WHERE run = ?"},
        {&made.end_sweep_, "INSERT INTO ending (session, ended_ms, complete, message) VALUES (?, ?, ?, ?)"},
    };
    for (const auto& [into, sql] : wanted) {
        auto prepared = journal.prepare(sql);
        if (!prepared) {
            return prepared.error();
        }
        *into = std::move(*prepared);
    }
    auto cluster = cluster_writer::make(journal);
    if (!cluster) {
        return cluster.error();
    }
    made.cluster_.emplace(std::move(*cluster));
    return made;
}

result<void> writer::add(const record& what) {
    return std::visit([this](const auto& r) { return write(r); }, what);
}

void writer::roll_back() noexcept {
    const auto why = journal_->last_trouble();
    // After some failures SQLite has rolled back itself, and this one says so; the first failure is what counts.
    (void)roll_back_.run();
    journal_->note_trouble(why);
}

result<void> writer::change_one(statement& s, run_number run, std::string_view broken) {
    if (auto done = s.run(); !done) {
        return done;
    }
    if (journal_->changes() != 1) {
        return journal_->contradiction(fmt::format("run {}: {}", row_number(run), broken));
    }
    return {};
}

result<void> writer::write(const sweep_opened& r) {
    auto& s = open_sweep_;
    s.bind(1, session_);
    s.bind(2, milliseconds_of(r.at));
    s.bind(3, r.name);
    s.bind(4, r.seed);
    s.bind(5, r.file_text);
    s.bind(6, r.file_digest);
    s.bind(7, r.document);
    s.bind(8, r.prices_digest);
    s.bind(9, r.repeats);
    s.bind(10, r.cells);
    s.bind(11, r.total_runs);
    return s.run();
}

result<void> writer::write(const cell_described& r) {
    auto& s = describe_cell_;
    s.bind(1, static_cast<std::uint64_t>(r.number));
    s.bind(2, r.id);
    s.bind(3, r.label);
    s.bind(4, r.values);
    s.bind(5, r.config_digest);
    s.bind(6, r.environment_digest);
    s.bind(7, r.image_digest);
    return s.run();
}

result<void> writer::write(const attempt_started& r) {
    if (r.id.empty()) {
        return journal_->contradiction(fmt::format("run {}: an attempt without a run id", row_number(r.run)));
    }
    may_start_.bind(1, row_number(r.run));
    may_start_.bind(2, row_number(r.attempt));
    const auto may = may_start_.step();
    may_start_.reset();
    if (!may) {
        return may.error();
    }
    if (!*may) {
        return journal_->contradiction(
            fmt::format("run {}: an attempt cannot start: the run is closed, its last attempt is "
                        "open, or this is not the next one",
                        row_number(r.run)));
    }
    auto& s = start_;
    s.bind(1, row_number(r.run));
    s.bind(2, row_number(r.attempt));
    s.bind(3, static_cast<std::uint64_t>(r.cell));
    s.bind(4, r.repeat);
    s.bind(5, r.id.str());
    s.bind(6, session_);
    s.bind(7, r.node);
    s.bind(8, milliseconds_of(r.at));
    s.bind(9, r.seed);
    s.bind(10, r.reserved.tokens);
    s.bind(11, r.reserved.usd);
    bind_token(s, 12, r.token);
    return s.run();
}

result<void> writer::write(const spending_noted& r) {
    auto& s = note_;
    s.bind(1, row_number(r.run));
    s.bind(2, row_number(r.attempt));
    bind_spending(s, 3, r.spent);
    return change_one(s, r.run, "spending of an attempt that was never started");
}

result<void> writer::write(const attempt_ended& r) {
    auto& s = end_;
    const auto finite = [](const std::optional<double>& score) { return !score || std::isfinite(*score); };
    if (!finite(r.score) || !std::all_of(r.step_scores.begin(), r.step_scores.end(), finite)) {
        return journal_->contradiction(fmt::format("run {}: a score that is no finite number", row_number(r.run)));
    }
    const auto charged = r.charged.value_or(charge_of(r.spent));
    const auto steps = scores_text(r.step_scores);
    s.bind(1, row_number(r.run));
    s.bind(2, row_number(r.attempt));
    bind_spending(s, 3, r.spent);
    s.bind(8, charged.tokens);
    s.bind(9, charged.usd);
    s.bind(10, milliseconds_of(r.at));
    s.bind(11, to_string(r.means));
    bind_outcome(s, 12, r.how);
    s.bind(15, r.score);
    s.bind(16, std::string_view(steps));
    s.bind(17, r.transcript);
    s.bind(18, count_of(r.took.prepare));
    s.bind(19, count_of(r.took.setup));
    s.bind(20, count_of(r.took.agent));
    s.bind(21, count_of(r.took.score));
    s.bind(22, count_of(r.took.teardown));
    s.bind(23, count_of(r.took.whole));
    if (auto ended = change_one(s, r.run, "the end of an attempt that was never started, or has ended"); !ended) {
        return ended;
    }
    if (r.means == verdict::counts || r.means == verdict::sealed) {
        return close(r.run, r.at, r.attempt, std::nullopt, {});
    }
    return {};
}

result<void> writer::write(const run_closed_without_attempt& r) {
    return close(r.run, r.at, r.counted, r.why, r.message);
}

result<void> writer::close(run_number run, wall_time at, std::optional<attempt_number> counted,
                           std::optional<closing> why, const std::string& message) {
    auto& s = close_;
    s.bind(1, row_number(run));
    s.bind(2, milliseconds_of(at));
    s.bind(3, row_number(counted));
    why ? s.bind(4, to_string(*why)) : s.bind(4, std::nullopt);
    s.bind(5, message);
    return change_one(s, run,
                      "it cannot be closed: it is closed already, has an open attempt, or the attempt that is "
                      "to count does not");
}

result<void> writer::write(const run_requeued& r) {
    keep_closing_.bind(1, row_number(r.run));
    keep_closing_.bind(2, milliseconds_of(r.at));
    keep_closing_.bind(3, r.message);
    if (auto kept = change_one(keep_closing_, r.run, "it cannot be queued again: it is not closed"); !kept) {
        return kept;
    }
    reopen_.bind(1, row_number(r.run));
    return change_one(reopen_, r.run, "it cannot be queued again: it is not closed");
}

result<void> writer::write(const sweep_ended& r) {
    end_sweep_.bind(1, session_);
    end_sweep_.bind(2, milliseconds_of(r.at));
    end_sweep_.bind(3, static_cast<std::int64_t>(r.complete ? 1 : 0));
    end_sweep_.bind(4, r.message);
    return end_sweep_.run();
}

} // namespace chalk::journal
