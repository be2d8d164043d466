/// Transcripts as text for a terminal: one as a page to read, several as a table.
#pragma once

#include "cli/show/terminal.hpp"
#include "protocol/event/event.hpp"

#include <string>
#include <vector>

namespace chalk::cli {

/// `document` fits the transcript's schema.
[[nodiscard]] std::string transcript_page(const json& document, const page_style& style);

struct named_transcript {
    std::string file;
    json document;
};

/// One line a transcript, and a line of totals.
[[nodiscard]] std::string transcript_table(const std::vector<named_transcript>& transcripts, const page_style& style);

/// "passed", "error (task)" and so on; "not finished" without an outcome.
[[nodiscard]] std::string outcome_text(const json& document);
[[nodiscard]] ink outcome_ink(const json& document);

/// "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min"
[[nodiscard]] std::string duration_text(std::int64_t ms);
/// "12 B", "3.4 KiB"
[[nodiscard]] std::string size_text(std::uint64_t count);
/// "0.75", "1", at most four digits after the point; "-" for null
[[nodiscard]] std::string score_text(const json& score);

} // namespace chalk::cli
