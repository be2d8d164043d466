#include "protocol/core/outcome.hpp"

#include "protocol/core/result.hpp"

#include <array>

namespace chalk {

namespace {

template<class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view text) noexcept {
    for (std::size_t i = 0; i < N; ++i) {
        if (names.at(i) == text) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

} // namespace

std::string_view to_string(error_class kind) noexcept {
    return error_class_names.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(outcome_status status) noexcept {
    return outcome_status_names.at(static_cast<std::size_t>(status));
}

std::optional<error_class> parse_error_class(std::string_view text) noexcept {
    return find_name<error_class>(error_class_names, text);
}

std::optional<outcome_status> parse_outcome_status(std::string_view text) noexcept {
    return find_name<outcome_status>(outcome_status_names, text);
}

outcome outcome::error(const failure& why) {
    return error(why.kind, why.message);
}

} // namespace chalk
