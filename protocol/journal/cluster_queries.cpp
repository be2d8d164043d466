// What a cluster's coordinator asks of the journal: leases, and what it has of an assignment.
#include "protocol/journal/reader_state.hpp"
#include "protocol/journal/row_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::journal {

result<std::vector<lease_granted>> journal_reader::open_leases() const {
    std::vector<lease_granted> open;
    auto read = each_row(
        *state_->journal,
        "SELECT epoch, count, node, length_ms, granted_ms FROM lease INDEXED BY lease_open "
        "WHERE ended_ms IS NULL",
        [&](statement& row) -> result<bool> {
            open.push_back({row.text(2), token_at(row, 0), milliseconds(row.integer(3)), time_of(row.integer(4))});
            return true;
        });
    if (!read) {
        return read.error();
    }
    std::sort(open.begin(), open.end(),
              [](const lease_granted& a, const lease_granted& b) { return a.number < b.number; });
    return open;
}

result<assignment_standing> journal_reader::assignment(run_number run, attempt_number attempt,
                                                       const assignment_token& token) const {
    if (token.is_none()) {
        return assignment_standing::absent;
    }
    auto& query = state_->one_assignment;
    if (!query) {
        auto prepared =
            state_->journal->prepare("SELECT verdict IS NOT NULL AND verdict <> 'lost' AND class IS NOT 'node_lost' "
                                     "FROM attempt WHERE run = ? AND attempt = ? AND token_epoch = ? "
                                     "AND token_count = ?");
        if (!prepared) {
            return prepared.error();
        }
        query.emplace(std::move(*prepared));
    }
    query->bind(1, row_number(run));
    query->bind(2, row_number(attempt));
    bind_token(*query, 3, token);
    auto row = query->step();
    const bool taken = row && *row && query->integer(0) != 0;
    query->reset();
    if (!row) {
        return row.error();
    }
    return !*row ? assignment_standing::absent : taken ? assignment_standing::taken : assignment_standing::assigned;
}

result<std::vector<evidence_kept>> journal_reader::evidence(run_number run) const {
    const auto sql = fmt::format("SELECT attempt, token_epoch, token_count, node, kept_ms, status, class, message, "
                                 "score, input, cached, output, reasoning, usd, transcript FROM evidence "
                                 "WHERE run = {} ORDER BY attempt, token_epoch, token_count",
                                 row_number(run));
    std::vector<evidence_kept> kept;
    auto read = each_row(*state_->journal, sql, [&](statement& row) -> result<bool> {
        auto how = outcome_at(row, 5);
        if (!how) {
            return damaged(state_->journal->file(),
                           fmt::format("evidence of run {} holds what chalk does not write", row_number(run)));
        }
        kept.push_back({run, static_cast<attempt_number>(row.integer(0)), token_at(row, 1), row.text(3),
                        time_of(row.integer(4)), std::move(*how), real_at(row, 8), spending_at(row, 9), row.text(14)});
        return true;
    });
    if (!read) {
        return read.error();
    }
    return kept;
}

} // namespace chalk::journal
