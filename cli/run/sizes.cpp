#include "cli/run/sizes.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace chalk::cli {

namespace {
constexpr std::string_view unit_letters = "KMGT";
}

result<bytes> parse_size(std::string_view text) {
    const auto wrong = [text] {
        return config_failure(
            fmt::format("\"{}\" is no size: expected a number above 0 with a unit, e.g. 512MiB or 4GiB", text));
    };
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || !(number > 0)) {
        return wrong();
    }
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    while (!unit.empty() && unit.front() == ' ') {
        unit.remove_prefix(1);
    }
    if (!unit.empty() && unit != "B") {
        const auto power = unit_letters.find(unit.front());
        const auto rest = unit.substr(1);
        if (power == std::string_view::npos || (!rest.empty() && rest != "iB" && rest != "B")) {
            return wrong();
        }
        number = std::ldexp(number, static_cast<int>(10 * (power + 1)));
    }
    if (number < 1 || number > std::ldexp(1.0, 60)) {
        return wrong();
    }
    return bytes{static_cast<std::uint64_t>(number)};
}

std::string format_size(bytes size) {
    static constexpr std::array<const char*, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(size.count);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < names.size()) {
        value /= 1024;
        ++unit;
    }
    const std::string number = unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
    return fmt::format("{} {}", number.ends_with(".0") ? number.substr(0, number.size() - 2) : number, names.at(unit));
}

} // namespace chalk::cli
