/// How values of the journal become columns of a row, and columns values. For the journal's own sources alone.
#pragma once

#include "protocol/journal/database.hpp"
#include "protocol/journal/records.hpp"

#include <cstdint>
#include <optional>

namespace chalk::journal {

[[nodiscard]] constexpr std::uint64_t row_number(run_number run) noexcept {
    return static_cast<std::uint64_t>(run);
}
[[nodiscard]] constexpr std::uint32_t row_number(attempt_number attempt) noexcept {
    return static_cast<std::uint32_t>(attempt);
}
[[nodiscard]] std::optional<std::uint32_t> row_number(const std::optional<attempt_number>& attempt) noexcept;

// Each binds, or reads, as many columns as it names, from `at` on.

/// epoch, count
void bind_token(statement& s, int at, const assignment_token& token);
[[nodiscard]] assignment_token token_at(const statement& row, int at);
/// input, cached, output, reasoning, usd
void bind_spending(statement& s, int at, const spending& spent);
[[nodiscard]] spending spending_at(const statement& row, int at);
/// status, class, message. The texts of `how` must live until the statement has run.
void bind_outcome(statement& s, int at, const outcome& how);
/// nullopt: a name that chalk does not write.
[[nodiscard]] std::optional<outcome> outcome_at(const statement& row, int at);

[[nodiscard]] std::optional<double> real_at(const statement& row, int at);

} // namespace chalk::journal
