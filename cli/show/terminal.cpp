#include "cli/show/terminal.hpp"

#include "cli/progress/event_text.hpp"
#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <system_error>

#include <sys/ioctl.h>
#include <unistd.h>

namespace chalk::cli {

namespace {

constexpr std::size_t narrowest = 40;
constexpr std::size_t widest = 120; // longer lines are hard to read

/// A character's bytes and columns.
struct glyph {
    std::size_t size;
    std::size_t width;
};

/// The first character of `text`, by the C library's tables of the C.UTF-8 locale, whatever the user's locale is.
glyph first_glyph(std::string_view text) {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (static_cast<unsigned char>(text.front()) < 0x80 || utf8 == nullptr) {
        return {1, 1};
    }
    const auto before = ::uselocale(utf8);
    wchar_t character = 0;
    std::mbstate_t state{};
    const auto size = std::mbrtowc(&character, text.data(), text.size(), &state);
    const bool valid = size > 0 && size <= text.size();
    const auto width = valid ? ::wcwidth(character) : 1;
    ::uselocale(before);
    return {valid ? size : 1, width > 0 ? static_cast<std::size_t>(width) : 0};
}

/// Bytes of `text` that fit into `width` columns; at least one character, so that there is progress.
std::size_t fitting(std::string_view text, std::size_t width) {
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto next = first_glyph(text.substr(at));
        if (used + next.width > width && at > 0) {
            break;
        }
        used += next.width;
        at += next.size;
    }
    return at;
}

std::string without_tabs(std::string_view line) {
    std::string out;
    for (const char c : line) {
        if (c == '\t') {
            out.append(4, ' ');
        } else {
            out += c;
        }
    }
    return out;
}

void wrap_line(std::string_view line, std::size_t width, std::vector<std::string>& out) {
    while (!line.empty()) {
        auto end = fitting(line, width);
        if (end < line.size()) {
            const auto space = line.rfind(' ', end);
            const auto text_start = line.find_first_not_of(' ');
            if (space != std::string_view::npos && text_start < space) {
                end = space;
            }
        }
        out.emplace_back(line.substr(0, end));
        line.remove_prefix(end);
        if (!line.empty() && line.front() == ' ') {
            line.remove_prefix(1);
        }
    }
}

} // namespace

page_style style_of_stdout() {
    page_style style;
    if (::isatty(STDOUT_FILENO) == 0) {
        return style;
    }
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        style.width = std::clamp<std::size_t>(size.ws_col, narrowest, widest);
    }
    const char* refused = std::getenv("NO_COLOR");
    style.colour = refused == nullptr || *refused == '\0';
    return style;
}

std::string paint(const page_style& style, ink colour, std::string_view text) {
    if (!style.colour || colour == ink::plain || text.empty()) {
        return std::string(text);
    }
    const auto code = [&] {
        switch (colour) {
        case ink::bold:
            return "1";
        case ink::dim:
            return "2";
        case ink::red:
            return "31";
        case ink::green:
            return "32";
        case ink::yellow:
            return "33";
        case ink::cyan:
            return "36";
        case ink::plain:
            break;
        }
        return "0";
    }();
    return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::size_t columns(std::string_view text) {
    std::size_t count = 0;
    while (!text.empty()) {
        const auto next = first_glyph(text);
        count += next.width;
        text.remove_prefix(next.size);
    }
    return count;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    const auto valid = to_valid_utf8(std::string(text));
    std::string_view rest = valid;
    for (;;) {
        const auto end = rest.find('\n');
        auto line = rest.substr(0, end);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        const auto clean = printable(without_tabs(line));
        if (clean.empty()) {
            lines.emplace_back();
        } else {
            wrap_line(clean, width, lines);
        }
        if (end == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(end + 1);
    }
    while (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    return lines;
}

exit_code put(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (written || errno == EPIPE) {
        return exit_code::fine;
    }
    fmt::print(stderr, "chalk: cannot write to standard output: {}\n", std::generic_category().message(errno));
    return exit_code::run_error;
}

} // namespace chalk::cli
