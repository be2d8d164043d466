/// What a user may have meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::config {

/// Number of characters to insert, remove, replace or swap with their neighbour to get from one to the other.
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// The candidate that `word` most likely stands for, ignoring case, `_` and `-`; nullopt when none is near.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// `; did you mean "x"?` for the nearest candidate, else `; known: a, b, c`.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

} // namespace chalk::config
