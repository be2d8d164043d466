#include "protocol/journal/journal_reader.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/journal/attempt_columns.hpp"
#include "protocol/journal/reader_state.hpp"
#include "protocol/journal/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::journal {

namespace {

std::optional<attempt_number> attempt_at(const statement& row, int column) {
    return row.is_null(column) ? std::nullopt : std::optional(static_cast<attempt_number>(row.integer(column)));
}

constexpr std::string_view closed_columns = "run, closed_ms, attempt, why, message";

result<closed_row> closed_of(const statement& row, const std::filesystem::path& file) {
    closed_row closed{time_of(row.integer(1)), attempt_at(row, 2), std::nullopt, row.text(4)};
    if (!row.is_null(3)) {
        const auto name = row.text(3);
        const auto found = std::find(closing_names.begin(), closing_names.end(), name);
        if (found == closing_names.end()) {
            return damaged(file, fmt::format("run {} is closed for \"{}\"", row.number(0), to_valid_utf8(name)));
        }
        closed.why = static_cast<closing>(found - closing_names.begin());
    }
    return closed;
}

constexpr std::string_view cell_columns =
    "number, id, label, axis_values, config_digest, environment_digest, image_digest";

cell_described cell_of(const statement& row) {
    return {cell_number{row.number(0)}, row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6)};
}

/// Which attempts count, once all of the run is there.
void mark_counted(run_row& run) {
    for (auto& one : run.attempts) {
        one.counts = run.closed && run.closed->counted == one.started.attempt;
    }
}

} // namespace

result<void> each_row(database& journal, const std::string& sql, const visit_row& visit) {
    auto query = journal.prepare(sql);
    if (!query) {
        return query.error();
    }
    while (true) {
        auto row = query->step();
        if (!row) {
            return row.error();
        }
        if (!*row) {
            return {};
        }
        auto more = visit(*query);
        if (!more) {
            return more.error();
        }
        if (!*more) {
            return {};
        }
    }
}

const attempt_row* run_row::counted() const noexcept {
    const auto found = std::find_if(attempts.begin(), attempts.end(), [](const attempt_row& a) { return a.counts; });
    return found == attempts.end() ? nullptr : &*found;
}

/// A transaction reads of one moment: that of its first statement.
result<void> journal_reader::state::take_snapshot() {
    if (auto begun = journal->execute("BEGIN; SELECT count(*) FROM sqlite_schema"); !begun) {
        return begun;
    }
    if (auto fits = check_version(*journal, migrations()); !fits) {
        return fits;
    }
    versions.clear();
    return each_row(*journal, "SELECT id, chalk_version FROM session", [this](statement& row) -> result<bool> {
        versions[row.integer(0)] = row.text(1);
        return true;
    });
}

result<attempt_row> journal_reader::state::attempt_of(const statement& row) const {
    auto read = read_attempt(row, journal->file());
    if (read) {
        const auto version = versions.find(read->session);
        read->row.chalk_version = version == versions.end() ? std::string{} : version->second;
        return std::move(read->row);
    }
    return read.error();
}

result<void> journal_reader::state::merge(const std::string& where,
                                          const std::function<bool(const run_row&)>& visit) const {
    auto closed = journal->prepare(fmt::format("SELECT {} FROM closed {} ORDER BY run", closed_columns, where));
    if (!closed) {
        return closed.error();
    }
    auto attempts =
        journal->prepare(fmt::format("SELECT {} FROM attempt {} ORDER BY run, attempt", attempt_columns(), where));
    if (!attempts) {
        return attempts.error();
    }
    auto more_closed = closed->step();
    auto more_attempts = attempts->step();
    while (more_closed && more_attempts && (*more_closed || *more_attempts)) {
        run_row run;
        const auto next_closed = *more_closed ? std::optional(closed->number(0)) : std::nullopt;
        const auto next_attempt = *more_attempts ? std::optional(attempts->number(0)) : std::nullopt;
        const auto at = !next_closed    ? *next_attempt
                        : !next_attempt ? *next_closed
                                        : std::min(*next_closed, *next_attempt);
        run.run = run_number{at};
        while (more_attempts && *more_attempts && attempts->number(0) == at) {
            auto one = attempt_of(*attempts);
            if (!one) {
                return one.error();
            }
            run.attempts.push_back(std::move(*one));
            more_attempts = attempts->step();
        }
        if (next_closed == at) {
            auto how = closed_of(*closed, journal->file());
            if (!how) {
                return how.error();
            }
            run.closed = std::move(*how);
            more_closed = closed->step();
        }
        mark_counted(run);
        // A run whose attempts could not all be read is not shown as if it were whole.
        if (more_attempts && more_closed && !visit(run)) {
            return {};
        }
    }
    return !more_closed     ? result<void>(more_closed.error())
           : !more_attempts ? result<void>(more_attempts.error())
                            : result<void>();
}

journal_reader::journal_reader(std::unique_ptr<state> s) : state_(std::move(s)) {}
journal_reader::journal_reader(journal_reader&&) noexcept = default;
journal_reader& journal_reader::operator=(journal_reader&&) noexcept = default;
journal_reader::~journal_reader() = default;

result<journal_reader> journal_reader::open(const std::filesystem::path& folder) {
    if (auto found = look_for_journal(folder); !found) {
        return found.error();
    }
    auto journal = database::open(folder / journal_name, database::access::read);
    if (!journal) {
        return journal.error();
    }
    auto s = std::make_unique<state>();
    s->journal = std::move(*journal);
    if (auto taken = s->take_snapshot(); !taken) {
        return taken.error();
    }
    return journal_reader(std::move(s));
}

result<void> journal_reader::refresh() {
    if (auto ended = state_->journal->execute("COMMIT"); !ended) {
        return ended;
    }
    return state_->take_snapshot();
}

result<sweep_row> journal_reader::sweep() const {
    auto& journal = *state_->journal;
    std::optional<sweep_row> sweep;
    auto read = each_row(journal,
                         "SELECT opened_ms, name, seed, file_text, file_digest, document, prices_digest, repeats, "
                         "cells, total_runs, session FROM sweep",
                         [&](statement& row) -> result<bool> {
                             sweep.emplace();
                             sweep->opened = {time_of(row.integer(0)),
                                              row.text(1),
                                              row.number(2),
                                              row.text(3),
                                              row.text(4),
                                              row.text(5),
                                              row.text(6),
                                              row.number(7),
                                              row.number(8),
                                              row.number(9)};
                             const auto version = state_->versions.find(row.integer(10));
                             sweep->chalk_version = version == state_->versions.end() ? std::string{} : version->second;
                             return false;
                         });
    if (!read) {
        return read.error();
    }
    if (!sweep) {
        return config_failure(fmt::format("the sweep in {} was never started: its journal is empty",
                                          journal.file().parent_path().string()));
    }
    sweep->sessions = state_->versions.size();
    auto late = journal.query_integer("SELECT count(*) FROM evidence");
    if (!late) {
        return late.error();
    }
    sweep->late_results = static_cast<std::uint64_t>(*late);
    // An end is the last word only while no later process has taken the sweep up.
    read = each_row(journal,
                    "SELECT ended_ms, complete, message FROM ending WHERE session = (SELECT max(id) FROM session) "
                    "ORDER BY id DESC LIMIT 1",
                    [&](statement& row) -> result<bool> {
                        sweep->ended = sweep_ended{time_of(row.integer(0)), row.integer(1) != 0, row.text(2)};
                        return false;
                    });
    if (!read) {
        return read.error();
    }
    return std::move(*sweep);
}

result<void> journal_reader::for_each_cell(const std::function<bool(const cell_described&)>& visit) const {
    return each_row(*state_->journal, fmt::format("SELECT {} FROM cell ORDER BY number", cell_columns),
                    [&](statement& row) -> result<bool> { return visit(cell_of(row)); });
}

result<std::optional<cell_described>> journal_reader::cell(cell_number number) const {
    auto& query = state_->one_cell;
    if (!query) {
        auto prepared = state_->journal->prepare(fmt::format("SELECT {} FROM cell WHERE number = ?", cell_columns));
        if (!prepared) {
            return prepared.error();
        }
        query.emplace(std::move(*prepared));
    }
    query->bind(1, static_cast<std::uint64_t>(number));
    auto row = query->step();
    if (!row) {
        return row.error();
    }
    auto found = *row ? std::optional(cell_of(*query)) : std::nullopt;
    query->reset();
    return found;
}

result<void> journal_reader::for_each_run(const std::function<bool(const run_row&)>& visit) const {
    return state_->merge({}, visit);
}

result<std::optional<run_row>> journal_reader::run(run_number number) const {
    std::optional<run_row> found;
    auto read = state_->merge(fmt::format("WHERE run = {}", static_cast<std::uint64_t>(number)), [&](const run_row& r) {
        found = r;
        return false;
    });
    if (!read) {
        return read.error();
    }
    return found;
}

result<void> journal_reader::check() const {
    return quick_check(*state_->journal);
}

} // namespace chalk::journal
