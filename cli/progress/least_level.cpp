#include "cli/progress/least_level.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace chalk::cli {

namespace {

constexpr std::array<std::pair<std::string_view, log_level>, 7> known = {{{"TRACE", log_level::debug},
                                                                          {"DEBUG", log_level::debug},
                                                                          {"INFO", log_level::info},
                                                                          {"SUCCESS", log_level::info},
                                                                          {"WARNING", log_level::warning},
                                                                          {"ERROR", log_level::error},
                                                                          {"CRITICAL", log_level::error}}};

} // namespace

result<log_level> parse_least_level(std::string_view word) {
    if (word.empty()) {
        return log_level::debug;
    }
    std::string names;
    for (const auto& [name, level] : known) {
        if (name == word) {
            return level;
        }
        names += names.empty() ? "" : ", ";
        names += name;
    }
    return config_failure(fmt::format("LOGURU_LEVEL is \"{}\"; known: {}", word, names));
}

result<log_level> least_level() {
    const char* word = std::getenv("LOGURU_LEVEL");
    return parse_least_level(word == nullptr ? "" : word);
}

} // namespace chalk::cli
