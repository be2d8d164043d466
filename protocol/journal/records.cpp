#include "protocol/journal/records.hpp"

namespace chalk::journal {

charge charge_of(const spending& spent) noexcept {
    return {spent.tokens.input + spent.tokens.output, spent.usd.value_or(0)};
}

std::string_view to_string(verdict what) noexcept {
    return verdict_names.at(static_cast<std::size_t>(what));
}

std::string_view to_string(closing why) noexcept {
    return closing_names.at(static_cast<std::size_t>(why));
}

} // namespace chalk::journal
