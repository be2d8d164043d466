#include "cli/show/page.hpp"

#include <fmt/format.h>

namespace chalk::cli {

std::string duration_text(std::int64_t ms) {
    constexpr std::int64_t second = 1000;
    constexpr std::int64_t minute = 60 * second;
    constexpr std::int64_t hour = 60 * minute;
    if (ms < second) {
        return fmt::format("{} ms", ms);
    }
    if (ms < minute) {
        return fmt::format("{:.1f} s", static_cast<double>(ms / 100) / 10); // rounded down: 59.99 s is not 60.0 s
    }
    if (ms < hour) {
        return fmt::format("{} min {:02} s", ms / minute, ms % minute / second);
    }
    return fmt::format("{} h {:02} min", ms / hour, ms % hour / minute);
}

std::string size_text(std::uint64_t count) {
    constexpr std::uint64_t step = 1024;
    if (count < step) {
        return fmt::format("{} B", count);
    }
    auto value = static_cast<double>(count);
    const char* unit = "B";
    for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
        if (value < static_cast<double>(step)) {
            break;
        }
        value /= static_cast<double>(step);
        unit = next;
    }
    return fmt::format("{:.1f} {}", value, unit);
}

std::string score_text(const json& score) {
    if (!score.is_number()) {
        return "-";
    }
    auto text = fmt::format("{:.4f}", score.get<double>());
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) {
        text.pop_back();
    }
    return text;
}

std::string outcome_text(const json& document) {
    const auto& end = document.at("outcome");
    if (end.is_null()) {
        return "not finished";
    }
    const auto& status = end.at("status").get_ref<const std::string&>();
    return end.at("error").is_null()
               ? status
               : fmt::format("{} ({})", status, end.at("error").at("class").get_ref<const std::string&>());
}

ink outcome_ink(const json& document) {
    const auto text = outcome_text(document);
    return text == "passed" ? ink::green : text == "failed" || text == "cancelled" ? ink::yellow : ink::red;
}

} // namespace chalk::cli
