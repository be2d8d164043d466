#include "protocol/journal/row_values.hpp"

namespace chalk::journal {

std::optional<std::uint32_t> row_number(const std::optional<attempt_number>& attempt) noexcept {
    return attempt ? std::optional<std::uint32_t>(row_number(*attempt)) : std::nullopt;
}

void bind_token(statement& s, int at, const assignment_token& token) {
    s.bind(at, token.epoch);
    s.bind(at + 1, token.count);
}

assignment_token token_at(const statement& row, int at) {
    return {row.number(at), row.number(at + 1)};
}

void bind_spending(statement& s, int at, const spending& spent) {
    s.bind(at, spent.tokens.input);
    s.bind(at + 1, spent.tokens.cached);
    s.bind(at + 2, spent.tokens.output);
    s.bind(at + 3, spent.tokens.reasoning);
    s.bind(at + 4, spent.usd);
}

spending spending_at(const statement& row, int at) {
    return {{row.number(at), row.number(at + 1), row.number(at + 2), row.number(at + 3)}, real_at(row, at + 4)};
}

void bind_outcome(statement& s, int at, const outcome& how) {
    s.bind(at, to_string(how.status));
    how.kind ? s.bind(at + 1, to_string(*how.kind)) : s.bind(at + 1, std::nullopt);
    s.bind(at + 2, how.message);
}

std::optional<outcome> outcome_at(const statement& row, int at) {
    outcome how;
    const auto status = parse_outcome_status(row.text(at));
    if (!status) {
        return std::nullopt;
    }
    how.status = *status;
    if (!row.is_null(at + 1)) {
        how.kind = parse_error_class(row.text(at + 1));
        if (!how.kind) {
            return std::nullopt;
        }
    }
    how.message = row.text(at + 2);
    return how;
}

std::optional<double> real_at(const statement& row, int at) {
    return row.is_null(at) ? std::nullopt : std::optional<double>(row.real(at));
}

} // namespace chalk::journal
