#include "cli/show/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chalk::cli {

namespace {

constexpr std::size_t column_count = 6;
using row = std::array<std::string, column_count>;

std::string without_breaks(const std::string& text) {
    const auto lines = wrap(text, 60);
    return lines.empty() ? "-" : lines.front() + (lines.size() > 1 ? "..." : "");
}

row row_of(const named_transcript& one) {
    const auto& document = one.document;
    std::size_t turns = 0;
    for (const auto& step : document.at("steps")) {
        turns += step.at("turns").get<std::size_t>();
    }
    const auto& took = document.at("duration_ms");
    return {without_breaks(document.at("run").at("run_id").get<std::string>()),
            outcome_text(document),
            score_text(document.at("score")),
            std::to_string(turns),
            took.is_null() ? "-" : duration_text(took.get<std::int64_t>()),
            without_breaks(one.file)};
}

} // namespace

std::string transcript_table(const std::vector<named_transcript>& transcripts, const page_style& style) {
    std::vector<row> rows = {{"run", "outcome", "score", "turns", "time", "file"}};
    double sum = 0;
    std::size_t scored = 0;
    std::size_t passed = 0;
    for (const auto& one : transcripts) {
        rows.push_back(row_of(one));
        passed += outcome_text(one.document) == "passed" ? 1 : 0;
        if (const auto& score = one.document.at("score"); score.is_number()) {
            sum += score.get<double>();
            ++scored;
        }
    }
    std::array<std::size_t, column_count> widths{};
    for (const auto& cells : rows) {
        for (std::size_t i = 0; i < column_count; ++i) {
            widths.at(i) = std::max(widths.at(i), columns(cells.at(i)));
        }
    }

    std::string out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t i = 0; i < column_count; ++i) {
            const auto& cell = rows[r].at(i);
            const auto colour = r == 0 ? ink::bold : i == 1 ? outcome_ink(transcripts[r - 1].document) : ink::plain;
            out += paint(style, colour, cell);
            if (i + 1 < column_count) {
                out += std::string(widths.at(i) - columns(cell) + 2, ' ');
            }
        }
        out += '\n';
    }
    out += fmt::format("\n{} runs, {} passed, mean score {}\n", transcripts.size(), passed,
                       scored == 0 ? "-" : score_text(sum / static_cast<double>(scored)));
    return out;
}

} // namespace chalk::cli
