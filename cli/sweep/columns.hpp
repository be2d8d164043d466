/// Text in columns for a terminal.
#pragma once

#include "cli/show/terminal.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace chalk::cli {

/// The first line of `text`, harmless to a terminal, with "..." where there is more.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t width);

/// A header and rows, each as long as the header; as wide as their widest cell.
[[nodiscard]] std::string columns_text(const std::vector<std::string>& header,
                                       const std::vector<std::vector<std::string>>& rows, const page_style& style);

} // namespace chalk::cli
