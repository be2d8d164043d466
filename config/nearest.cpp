#include "config/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace chalk::config {

namespace {

/// "maxTurns" and "max-turns" are spellings of "max_turns".
std::string plain(std::string_view word) {
    std::string out;
    for (const char c : word) {
        if (c != '_' && c != '-') {
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return out;
}

} // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
    // Three rows of the usual table: swaps look two rows back.
    std::vector<std::size_t> two_back(to.size() + 1);
    std::vector<std::size_t> last(to.size() + 1);
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= from.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replace = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                row[j] = std::min(row[j], two_back[j - 2] + 1);
            }
        }
        std::swap(two_back, last);
        std::swap(last, row);
    }
    return last[to.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
    constexpr std::size_t longest_key = 64; // a longer word is no misspelling, and comparing it would be slow
    if (word.empty() || word.size() > longest_key) {
        return std::nullopt;
    }
    const auto wanted = plain(word);
    std::optional<std::string> best;
    std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const auto& candidate : candidates) {
        const auto distance = edit_distance(wanted, plain(candidate));
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
    if (const auto meant = nearest(word, candidates)) {
        return fmt::format("; did you mean \"{}\"?", *meant);
    }
    return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

} // namespace chalk::config
