/// What a journal_reader holds, and how its queries run. For its own sources alone.
#pragma once

#include "protocol/journal/database.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace chalk::journal {

/// For each row of a query; returns false to stop.
using visit_row = std::function<result<bool>(statement&)>;

/// Prepares `sql`, and calls `visit` for each of its rows until it returns false.
[[nodiscard]] result<void> each_row(database& journal, const std::string& sql, const visit_row& visit);

struct journal_reader::state {
    std::unique_ptr<database> journal;
    std::map<std::int64_t, std::string> versions; // of chalk, by session
    std::optional<statement> one_cell;            // asked for cell by cell
    std::optional<statement> one_assignment;      // asked for result by result

    result<void> take_snapshot();
    result<attempt_row> attempt_of(const statement& row) const;
    /// Rows of `attempt` and `closed`, each in the order of its runs, as runs.
    result<void> merge(const std::string& where, const std::function<bool(const run_row&)>& visit) const;
};

} // namespace chalk::journal
