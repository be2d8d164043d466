/// Runs a sweep silently and times it, and runs a floor program beside it. For `chalk bench`.
#pragma once

#include "actors/sweep/schedule.hpp"
#include "cli/refused.hpp"
#include "cli/run/options.hpp"
#include "protocol/core/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chalk::cli::bench {

struct measured_runs {
    double seconds = 0; ///< from the start of the tree to the last outcome; looking at the task comes before
    actors::sweep_counts counts;
    std::uint64_t transcript_bytes = 0; ///< of an average transcript
    bytes peak_memory;                  ///< of this process so far (getrusage, ru_maxrss)
    double quietest_core_share = 1;     ///< of a core, in the second in which this process used least
};

/// error_class::sandbox where the machine lacks something, else error_class::config.
[[nodiscard]] failure failure_of(const refused& why);

/// Blocking. error_class of whatever refused to start. Runs that end in an error are counted, not failures of this.
[[nodiscard]] result<measured_runs> measure_runs(const run_options& options);

/// Blocking. Sandboxes a second with nothing in them: made, /usr/bin/true as the harness, removed; `concurrency`
/// threads. As root. error_class::sandbox.
[[nodiscard]] result<double> measure_bare_sandboxes(std::size_t count, std::size_t concurrency);

/// Blocking. Starts of `command` a second, `concurrency` at once, each to its exit. error_class::harness: it cannot be
/// started, or fails.
[[nodiscard]] result<double> measure_starts(const std::vector<std::string>& command, std::size_t count,
                                            std::size_t concurrency);

/// Blocking. Runs a floor program, which prints one JSON object with "per_s", and returns that figure.
/// error_class::harness when it is missing, fails, or prints something else.
[[nodiscard]] result<double> measure_floor(const std::filesystem::path& program,
                                           const std::vector<std::string>& arguments);

/// How runs of an example beside this executable are started: with little memory and disk, and more of them than the
/// machine has cpus for, since the benchmark decides how many there are at once.
[[nodiscard]] run_options example_runs(const char* example);

/// The folder that this executable lies in; floors and the native example are below it.
[[nodiscard]] std::filesystem::path build_folder();

} // namespace chalk::cli::bench
