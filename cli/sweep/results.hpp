/// What `chalk sweep status`, `export` and `diff` do: they read journals and write nothing but their output.
#pragma once

#include "cli/commands.hpp"

#include <filesystem>
#include <string>

namespace chalk::cli {

enum class export_format { jsonl, csv };

/// Prints where the sweep in `folder` stands: a page, or one JSON object.
[[nodiscard]] exit_code show_status(const std::filesystem::path& folder, bool as_json);

/// One row a run that was touched, with the attempt that counts; with `all_attempts` one row an attempt. To `out`, or
/// to standard output when it is empty.
[[nodiscard]] exit_code export_results(const std::filesystem::path& folder, export_format format, bool all_attempts,
                                       const std::filesystem::path& out);

/// Compares two sweeps cell by cell.
[[nodiscard]] exit_code diff_sweeps(const std::filesystem::path& a, const std::filesystem::path& b, bool as_json);

} // namespace chalk::cli
