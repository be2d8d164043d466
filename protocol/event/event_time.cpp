#include "protocol/event/event.hpp"

#include <fmt/format.h>

#include <charconv>

namespace chalk {

namespace {

/// Reads exactly `width` digits at `at`; nullopt where there are none.
std::optional<unsigned> digits(std::string_view text, std::size_t at, std::size_t width) {
    if (at + width > text.size()) {
        return std::nullopt;
    }
    unsigned value = 0;
    const char* first = text.data() + at;
    const auto [end, error] = std::from_chars(first, first + width, value);
    return error == std::errc{} && end == first + width ? std::optional(value) : std::nullopt;
}

/// Writes `value` as `width` digits at `at`. Not fmt: a run writes its times several dozen times.
void put_digits(std::string& text, std::size_t at, std::size_t width, std::int64_t value) {
    for (std::size_t i = at + width; i > at; value /= 10) {
        text[--i] = static_cast<char>('0' + value % 10);
    }
}

constexpr std::string_view time_form = "0000-00-00T00:00:00.000Z";

} // namespace

/// A wall_time's years have four digits: its nanoseconds reach from 1677 to 2262.
std::string format_time(wall_time t) {
    const auto ms = std::chrono::floor<milliseconds>(t);
    const auto day = std::chrono::floor<std::chrono::days>(ms);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(ms - day);
    std::string text(time_form);
    put_digits(text, 0, 4, static_cast<int>(date.year()));
    put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
    put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
    put_digits(text, 11, 2, clock.hours().count());
    put_digits(text, 14, 2, clock.minutes().count());
    put_digits(text, 17, 2, clock.seconds().count());
    put_digits(text, 20, 3, clock.subseconds().count());
    return text;
}

result<wall_time> parse_time(std::string_view text) {
    constexpr std::string_view form = time_form;
    const auto refuse = [&] {
        return harness_failure(fmt::format("\"{}\" is not a time like 2026-01-31T12:00:00.000Z", text));
    };
    if (text.size() != form.size()) {
        return refuse();
    }
    for (std::size_t i = 0; i < form.size(); ++i) {
        if (form[i] != '0' && text[i] != form[i]) {
            return refuse();
        }
    }
    const auto year = digits(text, 0, 4);
    const auto month = digits(text, 5, 2);
    const auto day = digits(text, 8, 2);
    const auto hour = digits(text, 11, 2);
    const auto minute = digits(text, 14, 2);
    const auto second = digits(text, 17, 2);
    const auto ms = digits(text, 20, 3);
    if (!year || !month || !day || !hour || !minute || !second || !ms) {
        return refuse();
    }
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                           std::chrono::day(*day)};
    // A wall_time counts nanoseconds in 64 bits: the years that fit whole.
    const bool fits = *year >= 1678 && *year <= 2261;
    if (!date.ok() || !fits || *hour > 23 || *minute > 59 || *second > 59) {
        return refuse();
    }
    return wall_time(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
           seconds(*second) + milliseconds(*ms);
}

} // namespace chalk
