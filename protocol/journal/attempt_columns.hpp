/// One row of the table `attempt`, read.
#pragma once

#include "protocol/journal/database.hpp"
#include "protocol/journal/journal_reader.hpp"

namespace chalk::journal {

/// What a query selects for read_attempt().
[[nodiscard]] std::string_view attempt_columns() noexcept;

struct read_row {
    attempt_row row; ///< but for `counts` and `chalk_version`
    std::int64_t session = 0;
};

/// error_class::harness: the row holds what no chalk writes.
[[nodiscard]] result<read_row> read_attempt(const statement& row, const std::filesystem::path& file);

} // namespace chalk::journal
