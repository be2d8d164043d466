#include "cli/sweep/columns.hpp"

#include <algorithm>

namespace chalk::cli {

std::string one_line(std::string_view text, std::size_t width) {
    const auto lines = wrap(text, std::max<std::size_t>(width, 8) - 3);
    return lines.empty() ? std::string{} : lines.front() + (lines.size() > 1 ? "..." : "");
}

std::string columns_text(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                         const page_style& style) {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < header.size(); ++i) {
        auto width = columns(header[i]);
        for (const auto& row : rows) {
            width = std::max(width, columns(row[i]));
        }
        widths.push_back(width);
    }
    const auto line = [&](const std::vector<std::string>& cells, ink colour) {
        std::string text;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const auto pad = i + 1 < cells.size() ? widths[i] - columns(cells[i]) + 2 : 0;
            text += paint(style, colour, cells[i]) + std::string(pad, ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        return text + "\n";
    };
    std::string all = line(header, ink::bold);
    for (const auto& row : rows) {
        all += line(row, ink::plain);
    }
    return all;
}

} // namespace chalk::cli
