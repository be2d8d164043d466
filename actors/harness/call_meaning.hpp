/// What the end of a call of the environment, an answer or a failure, means for the run. Pure.
#pragma once

#include "actors/harness/lifecycle.hpp"
#include "actors/harness/solution_command.hpp"
#include "protocol/environment/client.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

namespace chalk::actors {

/// nullopt: nothing yet. The host's streams closed, and the report of its end, which says more, is coming.
[[nodiscard]] std::optional<lifecycle::fact> meaning_of(std::string_view method,
                                                        const environment::call_result& answer);

/// Of a call of "solution", for the oracle at work on step `step`. monostate: as nullopt above. An environment that
/// does not know the method has no solution.
[[nodiscard]] std::variant<std::monostate, solution_command, lifecycle::trouble>
solution_in(const environment::call_result& answer, std::size_t step);

} // namespace chalk::actors
