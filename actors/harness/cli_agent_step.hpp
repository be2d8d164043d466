/// One step of a CLI agent, without actors, IO or clock: what its program prints becomes events, and its end becomes
/// the step's end or the run's.
///
/// Owner: the CLI agent actor, one a step.
#pragma once

#include "config/cli_agent.hpp"
#include "config/run_config.hpp"
#include "protocol/event/event.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <string_view>
#include <vector>

namespace chalk::actors {

class cli_agent_step {
  public:
    cli_agent_step(const config::cli_agent& agent, std::size_t index) : agent_(agent), index_(index) {}

    [[nodiscard]] std::vector<event_body> on_line(std::string_view line);

    /// What to record, and why the run cannot go on, if it cannot. A program that did not end well because of a limit
    /// has reached it, and nothing failed.
    struct ending {
        std::vector<event_body> record;
        std::optional<failure> why;
    };
    /// `limit`: the one that is reached by now, if any: it may be what the program was stopped for, or what its model
    /// refused it for.
    [[nodiscard]] ending on_end(const result<confinement::command_result>& how,
                                std::optional<limit_reached> limit) const;

  private:
    [[nodiscard]] ending outcome_of(const result<confinement::command_result>& how,
                                    std::optional<limit_reached> limit) const;
    [[nodiscard]] std::string named(std::string_view what) const;

    const config::cli_agent& agent_;
    std::size_t index_;
    std::string text_; ///< that came in pieces and may go on
    std::vector<std::string> failures_;
    bool last_seen_ = false;
    std::string last_words_; ///< the last line that was none of the agent's own: often the only explanation
};

/// The exit code by which a shell says that there is no such program.
inline constexpr int no_such_program = 127;

} // namespace chalk::actors
