/// What `chalk show` and `chalk config` need of a terminal: its width, whether colours are welcome, text that fits.
#pragma once

#include "cli/commands.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace chalk::cli {

struct page_style {
    std::size_t width = 80; ///< columns
    bool colour = false;
    bool full = false; ///< cut nothing
};

/// Of standard output: the terminal's width, and colour unless NO_COLOR is set; 80 columns in black and white for a
/// pipe.
[[nodiscard]] page_style style_of_stdout();

enum class ink { plain, bold, dim, red, green, yellow, cyan };

/// `text` in the colour, where the style has any.
[[nodiscard]] std::string paint(const page_style& style, ink colour, std::string_view text);

/// Columns that valid UTF-8 without control characters takes; a wide character takes two.
[[nodiscard]] std::size_t columns(std::string_view text);

/// `text` broken into lines of at most `width` columns, between words where it can be. Its own line breaks stay; every
/// other control character is made harmless.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Writes to standard output. A reader that has gone away is no failure; anything else is said on stderr.
[[nodiscard]] exit_code put(std::string_view text);

} // namespace chalk::cli
