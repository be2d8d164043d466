/// A sweep's state and figures, as text for a terminal and as JSON. The end report and `chalk sweep status` print them.
#pragma once

#include "cli/show/terminal.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/statistics/sweep_figures.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace chalk::cli {

struct sweep_state {
    std::filesystem::path folder;
    journal::sweep_row sweep;
    std::string runner; ///< who runs it now; empty: nobody
};

/// "running", "complete", "stopped" (it said why), "interrupted" (it was killed)
[[nodiscard]] std::string_view state_name(const sweep_state& state) noexcept;

[[nodiscard]] json to_json(const sweep_state& state);
[[nodiscard]] json to_json(const statistics::cell_figures& cell);

[[nodiscard]] std::string state_lines(const sweep_state& state, const page_style& style);
[[nodiscard]] std::string figure_lines(const statistics::group_figures& figures, const page_style& style);

/// One line a cell; of many cells the first ones, and a word on the rest.
class cell_table {
  public:
    explicit cell_table(const page_style& style) : style_(style) {}
    void add(const statistics::cell_figures& cell);
    [[nodiscard]] std::string text() const;

  private:
    page_style style_;
    std::vector<std::vector<std::string>> rows_;
    std::uint64_t cells_ = 0;
};

} // namespace chalk::cli
