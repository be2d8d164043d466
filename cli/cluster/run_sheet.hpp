/// One attempt, as the text in which a node gets it. Small: thousands a second are sent. What all runs of a sweep have
/// in common is in its sweep_sheet.
#pragma once

#include "actors/run/run_order.hpp"

#include <string>
#include <string_view>

namespace chalk::cli {

/// A run config has 8 MiB at most; some room for what is around it.
inline constexpr bytes largest_run_sheet = 9_MiB;

struct run_sheet {
    actors::run_key key;
    attempt_number attempt{1};
    std::string cell_label;
    std::string task; ///< as the environment names it, where that is known
    /// The environment by its name in the sweep's sheet, and no transcript_file but the default: where files go is the
    /// node's own.
    config::run_config config;
};

/// Of an order of make_order. What is at its default in the config is left out. Fails with the order's own refusal
/// where it has one: such a run has its outcome and goes nowhere; error_class::config when it is too large.
[[nodiscard]] result<std::string> run_sheet_text(const actors::run_order& order);

/// error_class::harness with the path of what is wrong.
[[nodiscard]] result<run_sheet> read_run_sheet(std::string_view text);

} // namespace chalk::cli
