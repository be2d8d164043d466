/// What came of an attempt, as the text in which a node tells its coordinator. It says everything of a run_result but
/// the order, which the coordinator has.
///
/// Made by the node when the run has ended, kept on its disk, and read by the coordinator, whose journal takes it: so a
/// text that was made is one that can be read, whatever the run's sandbox has said of itself.
#pragma once

#include "actors/run/run_order.hpp"

#include <string>
#include <string_view>

namespace chalk::actors {

/// Of the outcome's message and of the remark, in UTF-8; longer ones end in "..." there.
inline constexpr std::size_t most_result_words = 64U * 1024U;
/// As many steps as a run's record keeps scores of.
inline constexpr std::size_t most_result_steps = 10'000;
/// Of a whole text.
inline constexpr bytes largest_result_sheet = 2_MiB;

/// At most largest_result_sheet. What no journal would take is left out or cut: a number that is not finite, dollars
/// below 0, tokens from 2^63 on, times beyond 2^53 ms.
[[nodiscard]] std::string result_sheet_text(const run_result& what);

/// `order` is the one that the result is of; it may be null. error_class::harness with the path of what is wrong.
[[nodiscard]] result<run_result> read_result_sheet(std::string_view text, order_ptr order);

/// What an attempt has spent so far, in the words of a result.
[[nodiscard]] std::string spending_sheet_text(const journal::spending& spent);
/// error_class::harness with the path of what is wrong.
[[nodiscard]] result<journal::spending> read_spending_sheet(std::string_view text);

} // namespace chalk::actors
