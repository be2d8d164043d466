#include "actors/harness/call_meaning.hpp"

#include "actors/harness/environment_answers.hpp"
#include "actors/harness/environment_errors.hpp"
#include "config/cli_agent.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

std::optional<lifecycle::fact> meaning_of(std::string_view method, const environment::call_result& answer) {
    if (!answer) {
        auto trouble = trouble_of(method, answer.error());
        return trouble ? std::optional<lifecycle::fact>(std::move(*trouble)) : std::nullopt;
    }
    auto fact = fact_of(method, *answer);
    return fact ? std::move(*fact) : lifecycle::fact(lifecycle::trouble{fact.error(), {}});
}

std::variant<std::monostate, solution_command, lifecycle::trouble> solution_in(const environment::call_result& answer,
                                                                               std::size_t step) {
    if (!answer && answer.error().code != static_cast<int>(environment::rpc_code::method_not_found)) {
        if (auto trouble = trouble_of("solution", answer.error())) {
            return std::move(*trouble);
        }
        return {};
    }
    auto solution = answer ? solution_of(*answer) : result<std::optional<solution_command>>(std::nullopt);
    if (!solution) {
        return lifecycle::trouble{solution.error(), {}};
    }
    if (!*solution) {
        return lifecycle::trouble{
            config_failure(fmt::format("step {}: the environment has no solution, which is what the agent {} runs",
                                       step, config::oracle_agent)),
            {}};
    }
    return std::move(**solution);
}

} // namespace chalk::actors
