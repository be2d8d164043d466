/// How long the host waits for each part of a run, and what it says of a part that took longer. Pure.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <optional>
#include <string_view>

namespace chalk::actors {

/// Every wait has one; the run's own holds over all of them.
struct run_deadlines {
    milliseconds prepare{30 * 60'000};      ///< shared preparation of an environment: copies data, unpacks a root fs
    milliseconds start{60'000};             ///< one sandbox
    milliseconds first_event{10 * 60'000};  ///< from its start until the harness says anything
    std::optional<milliseconds> setup;      ///< from its start until the first step; in place of first_event
    std::optional<milliseconds> agent;      ///< the agent's work on one step
    std::optional<milliseconds> score;      ///< from there to the next step, or to the end: hooks and judge
    milliseconds whole_run{24 * 3'600'000}; ///< from admission to the final event
    milliseconds exit_after_final{30'000};  ///< from the final event to the harness's end
    milliseconds drain{2'000};        ///< from the sandbox's end to the end of its channel, or the other way round
    milliseconds cancel_grace{3'000}; ///< from Cancel to the harness's end
    milliseconds kill_grace{1'500};   ///< from the kill to the sandbox's end
    milliseconds remove{60'000};
    milliseconds record{120'000};
    milliseconds deliver{5'000};         ///< when all else is done, for the backend to take what it has not yet
    milliseconds deliver_cancelled{500}; ///< the same for a run that was cancelled: somebody waits

    friend bool operator==(const run_deadlines&, const run_deadlines&) = default;
};

/// Which part of its work a harness is at.
enum class run_phase { setup, agent, score };

/// Of the harness's work; nullopt: the run's own holds alone.
[[nodiscard]] std::optional<milliseconds> deadline_of(const run_deadlines& deadlines, run_phase phase);

// All of class timeout.

[[nodiscard]] failure took_too_long(const run_deadlines& deadlines, run_phase phase);
/// `what` as a sentence begins: "the run".
[[nodiscard]] failure took_too_long(std::string_view what, milliseconds deadline);

} // namespace chalk::actors
