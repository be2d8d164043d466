// What a resume asks of the journal.
#include "protocol/journal/attempt_columns.hpp"
#include "protocol/journal/reader_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::journal {

attempt_ended settle(const open_attempt& left, wall_time now) {
    attempt_ended ended;
    ended.run = left.started.run;
    ended.attempt = left.started.attempt;
    ended.at = now;
    ended.how = outcome::cancelled("chalk ended before this attempt did");
    ended.spent = left.noted;
    const auto noted = charge_of(left.noted);
    ended.charged =
        charge{std::max(noted.tokens, left.started.reserved.tokens), std::max(noted.usd, left.started.reserved.usd)};
    ended.means = verdict::lost;
    return ended;
}

result<run_set> journal_reader::finished_runs() const {
    run_set finished;
    auto read = each_row(*state_->journal, "SELECT run FROM closed", [&](statement& row) -> result<bool> {
        finished.insert(run_number{row.number(0)});
        return true;
    });
    if (!read) {
        return read.error();
    }
    return finished;
}

result<std::vector<unfinished_run>> journal_reader::unfinished_runs() const {
    // Those with an attempt that is pending, by the index that holds nothing else, and those that were queued again.
    const std::string sql =
        "WITH touched AS (SELECT run FROM attempt INDEXED BY attempt_pending "
        "WHERE verdict IS NULL OR verdict IN ('retried', 'lost') UNION SELECT run FROM requeue), "
        "unfinished AS (SELECT run, coalesce((SELECT max(last_attempt) FROM requeue WHERE requeue.run = touched.run), "
        "0) AS behind FROM touched WHERE NOT EXISTS (SELECT 1 FROM closed WHERE closed.run = touched.run)) "
        "SELECT unfinished.run, "
        "total(attempt.attempt > behind AND verdict = 'retried'), "
        "total(attempt.attempt > behind AND verdict = 'lost' AND class = 'node_lost'), "
        "total(attempt.attempt > behind AND verdict = 'lost' AND status = 'error' AND class <> 'node_lost'), "
        "coalesce(max(attempt.attempt), 0), EXISTS (SELECT 1 FROM requeue WHERE requeue.run = unfinished.run), "
        "total(attempt.attempt IS NOT NULL AND verdict IS NULL) "
        "FROM unfinished LEFT JOIN attempt ON attempt.run = unfinished.run GROUP BY unfinished.run ORDER BY 1";
    std::vector<unfinished_run> runs;
    auto read = each_row(*state_->journal, sql, [&](statement& row) -> result<bool> {
        runs.push_back({run_number{row.number(0)}, static_cast<std::uint32_t>(row.integer(1)),
                        static_cast<std::uint32_t>(row.integer(2)), static_cast<std::uint32_t>(row.integer(3)),
                        static_cast<attempt_number>(row.integer(4) + 1), row.integer(5) != 0, row.integer(6) != 0});
        return true;
    });
    if (!read) {
        return read.error();
    }
    return runs;
}

result<std::vector<open_attempt>> journal_reader::open_attempts() const {
    const auto sql = fmt::format("SELECT {} FROM attempt INDEXED BY attempt_pending "
                                 "WHERE (verdict IS NULL OR verdict IN ('retried', 'lost')) AND verdict IS NULL "
                                 "ORDER BY run, attempt",
                                 attempt_columns());
    std::vector<open_attempt> open;
    auto read = each_row(*state_->journal, sql, [&](statement& row) -> result<bool> {
        auto one = state_->attempt_of(row);
        if (!one) {
            return one.error();
        }
        open.push_back({std::move(one->started), one->noted});
        return true;
    });
    if (!read) {
        return read.error();
    }
    return open;
}

result<charge> journal_reader::charged() const {
    charge all;
    auto read = each_row(*state_->journal,
                         "SELECT coalesce(sum(charged_tokens), 0), total(charged_usd) FROM attempt "
                         "WHERE verdict IS NOT NULL",
                         [&](statement& row) -> result<bool> {
                             all = {row.number(0), row.real(1)};
                             return false;
                         });
    if (!read) {
        return read.error();
    }
    return all;
}

} // namespace chalk::journal
