#include "protocol/cluster/node_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cluster {

namespace {

// Not <cctype>: the grammar must not depend on a locale.
constexpr std::string_view letters_and_digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view further_allowed = "._-";

char small_letter(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

result<node_name> node_name::parse(std::string_view text) {
    if (text.empty()) {
        return config_failure("a name must not be empty");
    }
    if (text.size() > max_length) {
        return config_failure(
            fmt::format("a name has at most {} characters; this one has {}", max_length, text.size()));
    }
    // What breaks the rule is not repeated: it may be a stranger's, and anything at all.
    const auto allowed = [](char c) {
        return letters_and_digits.find(c) != std::string_view::npos ||
               further_allowed.find(c) != std::string_view::npos;
    };
    if (const auto bad = std::find_if_not(text.begin(), text.end(), allowed); bad != text.end()) {
        return config_failure(
            fmt::format("a name holds only letters, digits, '.', '_' and '-'; its character {} is another",
                        bad - text.begin() + 1));
    }
    if (letters_and_digits.find(text.front()) == std::string_view::npos) {
        return config_failure(fmt::format("the name \"{}\" must begin with a letter or digit", text));
    }
    return node_name(std::string(text));
}

bool same_but_for_capitals(const node_name& a, const node_name& b) noexcept {
    return a != b && std::equal(a.str().begin(), a.str().end(), b.str().begin(), b.str().end(),
                                [](char x, char y) { return small_letter(x) == small_letter(y); });
}

} // namespace chalk::cluster
