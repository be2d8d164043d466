#include "actors/cluster/node_id.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

namespace {

bool plain_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

} // namespace

result<node_id> node_id::parse(std::string_view text) {
    if (text.empty() || text.size() > max_length) {
        return config_failure(
            fmt::format("a node's name has 1 to {} characters, this one has {}", max_length, text.size()));
    }
    const auto allowed = [](char c) { return plain_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; };
    if (!plain_letter_or_digit(text.front()) || !std::ranges::all_of(text, allowed)) {
        return config_failure("a node's name is of letters, digits, '.', '_' and '-' and begins with a letter or a "
                              "digit");
    }
    return node_id(std::string(text));
}

} // namespace chalk::actors
