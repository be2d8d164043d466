#include "protocol/core/ids.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk {

namespace {

// Not std::isalnum: the grammar must not depend on a locale.
bool is_letter_or_digit(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_allowed(char c) noexcept {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

/// A byte for a message: quoted when it prints, else in hexadecimal.
std::string describe(char c) {
    if (c > 0x20 && c < 0x7f) {
        return fmt::format("'{}'", c);
    }
    return c == ' ' ? "a space" : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
}

} // namespace

result<run_id> run_id::parse(std::string_view text) {
    if (text.empty()) {
        return config_failure("a run id must not be empty");
    }
    if (text.size() > max_length) {
        return config_failure(
            fmt::format("a run id has at most {} characters; this one has {}", max_length, text.size()));
    }
    if (auto bad = std::find_if_not(text.begin(), text.end(), is_allowed); bad != text.end()) {
        return config_failure(
            fmt::format("a run id holds only letters, digits, '.', '_' and '-', not {}", describe(*bad)));
    }
    if (!is_letter_or_digit(text.front())) {
        return config_failure(fmt::format("the run id \"{}\" must begin with a letter or digit", text));
    }
    return run_id(std::string(text));
}

result<run_id> run_id::indexed(std::size_t index) const {
    auto indexed = parse(fmt::format("{}-{}", text_, index));
    if (!indexed) {
        return config_failure(
            fmt::format("the run id \"{}\" cannot take the suffix -{}: {}", text_, index, indexed.error().message));
    }
    return indexed;
}

} // namespace chalk
