#include "actors/cluster/run_messages.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace chalk::actors {

std::string bounded_word(std::string text) {
    if (text.size() > longest_word) {
        text.resize(longest_word - 3);
        text = to_valid_utf8(std::move(text)); // a character that was cut through becomes one that says so
        text.resize(std::min(text.size(), longest_word - 3));
        text += "...";
    }
    return text;
}

caf::error check_text(const std::string& text, std::size_t most) {
    if (text.size() > most) {
        return caf::make_error(caf::sec::invalid_argument, "a text beyond its bound");
    }
    return caf::none;
}

std::string join_assignments(const std::set<assignment_name>& names) {
    std::string text;
    for (const auto& name : names) {
        text += fmt::format("{} {} {} {} {}\n", name.run.cell, name.run.index, static_cast<std::uint32_t>(name.attempt),
                            name.token.epoch, name.token.count);
    }
    return text;
}

result<std::set<assignment_name>> split_assignments(std::string_view text) {
    std::set<assignment_name> names;
    while (!text.empty()) {
        std::array<std::uint64_t, 5> numbers{};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
            const auto used = static_cast<std::size_t>(end - text.data());
            const char after = i + 1 < numbers.size() ? ' ' : '\n';
            if (trouble != std::errc{} || used >= text.size() || text[used] != after) {
                return config_failure("a list of attempts that nobody would send");
            }
            text.remove_prefix(used + 1);
        }
        const auto [cell, index, attempt, epoch, count] = numbers;
        if (attempt == 0 || attempt > std::numeric_limits<std::uint32_t>::max() || names.size() == most_kept_runs) {
            return config_failure("a list of attempts that nobody would send");
        }
        names.insert({{cell, index}, attempt_number{static_cast<std::uint32_t>(attempt)}, {epoch, count}});
    }
    return names;
}

} // namespace chalk::actors
