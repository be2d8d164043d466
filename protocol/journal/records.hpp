/// What a sweep's journal is told: facts, each once, in the order in which they became true. docs/protocols/journal.md
/// says how they are kept.
///
/// Text that may come from outside (messages, labels, JSON) is made valid UTF-8 by whoever writes it here; JSON is
/// text, so that nobody parses what nobody asked for.
#pragma once

#include "protocol/core/ids.hpp"
#include "protocol/core/outcome.hpp"
#include "protocol/core/units.hpp"
#include "protocol/event/event.hpp"
#include "protocol/journal/assignment_token.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace chalk::journal {

/// Number of a run in its sweep: cell * repeats + repeat, all from 0. Below 2^63. There are gaps where cells are left
/// out.
enum class run_number : std::uint64_t {};

/// Number of a cell in its sweep's matrix, from 0, those that filters leave out counted. Below 2^63.
enum class cell_number : std::uint64_t {};

/// What a budget counts: tokens are input and output, cached and reasoning ones among them.
struct charge {
    std::uint64_t tokens = 0;
    double usd = 0;

    friend bool operator==(const charge&, const charge&) = default;
};

/// What an attempt has spent since its start, by all its model calls. It only rises.
struct spending {
    token_usage tokens;
    std::optional<double> usd = 0.0; ///< absent once a model without a known price was asked
};

/// What a budget counts of `spent`. An unknown price counts nothing.
[[nodiscard]] charge charge_of(const spending& spent) noexcept;

/// First record of a journal, and there only.
struct sweep_opened {
    wall_time at;
    std::string name;
    std::uint64_t seed = 0;
    std::string file_text;        ///< the sweep file as it was read
    std::string file_digest;      ///< sha256:<hex> over `file_text`
    std::string document;         ///< the sweep as one JSON object, resolved; `chalk sweep diff` and a resume read it
    std::string prices_digest;    ///< sha256:<hex> of the price file, empty without one
    std::uint64_t repeats = 1;    ///< at least 1
    std::uint64_t cells = 0;      ///< that are to run
    std::uint64_t total_runs = 0; ///< cells * repeats
};

/// A cell, before its first attempt starts; once.
struct cell_described {
    cell_number number{0};
    std::string id;                 ///< 16 hexadecimal digits, unique in its sweep; what two sweeps are compared by
    std::string label;              ///< for people
    std::string values;             ///< JSON object: dotted key of the run config to its value
    std::string config_digest;      ///< sha256:<hex> of the resolved run config
    std::string environment_digest; ///< sha256:<hex>, empty where none was taken
    std::string image_digest;       ///< empty where there is no image
};

/// An attempt is about to start. `attempt` is one more than the run's last one, from 1. Refused for a run that is
/// closed.
struct attempt_started {
    run_number run{0};
    cell_number cell{0};
    std::uint64_t repeat = 0;
    run_id id;
    attempt_number attempt{1};
    std::string node;
    assignment_token token{}; ///< of its assignment to `node`; none: a run of this machine
    wall_time at;
    std::uint64_t seed = 0;
    charge reserved; ///< of the sweep's budgets, until the attempt ends
};

/// What the attempt has spent so far. Welcome at any time after its start, also after its end (a model's answer may
/// come late); less than was noted before changes nothing.
struct spending_noted {
    run_number run{0};
    attempt_number attempt{1};
    spending spent;
};

/// What an attempt's end means for its run.
enum class verdict {
    counts,  ///< the run is closed with this outcome
    retried, ///< the attempt is charged, another one follows
    lost,    ///< charges no attempt: its node was lost or short of something, chalk ended, or the sweep was stopped;
             ///< another one follows
    sealed,  ///< the run is closed: cut off by `seal_at`, its outcome is a timeout
};

inline constexpr std::array<std::string_view, 4> verdict_names = {"counts", "retried", "lost", "sealed"};
[[nodiscard]] std::string_view to_string(verdict what) noexcept;

/// Wall time that each stage of an attempt took; absent for one that it did not reach.
struct stage_durations {
    std::optional<milliseconds> prepare;
    std::optional<milliseconds> setup;
    std::optional<milliseconds> agent;
    std::optional<milliseconds> score;
    std::optional<milliseconds> teardown;
    std::optional<milliseconds> whole; ///< from admission to the sandbox's removal; more than the sum of the others

    friend bool operator==(const stage_durations&, const stage_durations&) = default;
};

/// Once for each attempt_started.
struct attempt_ended {
    run_number run{0};
    attempt_number attempt{1};
    wall_time at;
    outcome how;
    std::optional<double> score;                    ///< the transcript's `score`; finite
    std::vector<std::optional<double>> step_scores; ///< the transcript's `steps[].score`
    spending spent;
    /// What the budgets are charged; absent: charge_of(spent). More than that where an attempt was never settled.
    std::optional<charge> charged;
    stage_durations took;
    std::string transcript; ///< path relative to the sweep's folder; empty where there is none
    verdict means = verdict::counts;
};

/// Why a run is closed although no attempt of it ended with verdict `counts` or `sealed`.
enum class closing {
    cancelled,  ///< by a person
    first_pass, ///< another run of its cell has passed
    breaker,    ///< too many errors in its cell
    stopped,    ///< the sweep's stop rule
    sealed,     ///< enough runs had ended
    budget,     ///< the sweep's tokens or dollars are spent
    deadline,   ///< the sweep's time is over
};

inline constexpr std::array<std::string_view, 7> closing_names = {"cancelled", "first_pass", "breaker", "stopped",
                                                                  "sealed",    "budget",     "deadline"};
[[nodiscard]] std::string_view to_string(closing why) noexcept;

/// The run gets no further attempt. Refused for a run that is closed, and for one with an open attempt.
struct run_closed_without_attempt {
    run_number run{0};
    wall_time at;
    closing why = closing::cancelled;
    std::string message;
    /// An earlier attempt (none with verdict `lost`) whose outcome stands as the run's; absent: the run has no outcome
    /// but `why`.
    std::optional<attempt_number> counted;
};

/// The run is open again: what closed it becomes history, and what its attempts were charged for no longer counts
/// against its retries. Refused for a run that is not closed.
struct run_requeued {
    run_number run{0};
    wall_time at;
    std::string message;
};

/// The sweep is over, or stops for now; a resumed sweep ends again.
struct sweep_ended {
    wall_time at;
    bool complete = true; ///< every run is closed
    std::string message;
};

/// A node may run for `length`, and on when it asks again: renewals are not written. Refused for a node whose lease is
/// open, and for a number that was given before.
struct lease_granted {
    std::string node;
    assignment_token number;
    milliseconds length{0}; ///< more than 0; for the lease's life
    wall_time at;
};

/// Nothing of that lease runs any more. In one batch with what follows from it: the losses of its runs. Refused for a
/// lease that is not open.
struct lease_ended {
    std::string node;
    assignment_token number;
    wall_time at;
};

/// The late result of an assignment that was given up: kept for people, and never counted. Once for each run, attempt
/// and token: a second one changes nothing. Refused for what was never assigned.
struct evidence_kept {
    run_number run{0};
    attempt_number attempt{1};
    assignment_token token;
    std::string node; ///< that brought it
    wall_time at;
    outcome how;
    std::optional<double> score; ///< finite
    spending spent;              ///< as the node says; no budget is charged
    std::string transcript;      ///< path relative to the sweep's folder; empty where there is none
};

using record =
    std::variant<sweep_opened, cell_described, attempt_started, spending_noted, attempt_ended,
                 run_closed_without_attempt, run_requeued, sweep_ended, lease_granted, lease_ended, evidence_kept>;

} // namespace chalk::journal
