/// One row of `chalk sweep export`. Columns: docs/reference/sweep-results.md.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalk::cli {

/// Columns in their order, the same ones in every row.
using exported_row = std::vector<std::pair<std::string_view, json>>;

/// `attempt` is the one that the row is of; null where none counts.
[[nodiscard]] exported_row export_row(const journal::sweep_row& sweep, const journal::cell_described& cell,
                                      const journal::run_row& run, const journal::attempt_row* attempt);

/// One JSON object and a line break.
[[nodiscard]] std::string jsonl_line(const exported_row& row);

/// RFC 4180, but for lines that end in a line feed alone: null is empty, a list or object is its JSON.
[[nodiscard]] std::string csv_line(const exported_row& row);
[[nodiscard]] std::string csv_header();

} // namespace chalk::cli
