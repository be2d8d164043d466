/// A sweep's figures out of its journal: what `chalk sweep status`, the end report and `chalk sweep diff` print.
#pragma once

#include "protocol/journal/journal_reader.hpp"
#include "protocol/statistics/group.hpp"

#include <functional>
#include <optional>

namespace chalk::statistics {

/// Where the run stands, and what counts of it.
[[nodiscard]] run_standing standing_of(const journal::run_row& run);

struct cell_figures {
    journal::cell_described cell; ///< only its number where the journal does not describe it
    group_figures figures;
    const cell_group* group = nullptr; ///< what `figures` was made of; valid during the visit
};

/// Every cell that was touched, in the order of their numbers, one in memory at a time; then the whole sweep's figures.
/// `visit` may be empty.
[[nodiscard]] result<group_figures> figure_out(const journal::journal_reader& journal,
                                               const std::function<void(const cell_figures&)>& visit);

/// As JSON, in the form of docs/reference/sweep-results.md.
[[nodiscard]] json to_json(const group_figures& figures);

} // namespace chalk::statistics
