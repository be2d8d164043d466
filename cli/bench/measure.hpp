/// Runs a sweep silently and times it, and runs a floor program beside it. For `chalk bench`.
#pragma once

#include "actors/sweep/sweep_plan.hpp"
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
};

/// Blocking. error_class of whatever refused to start. Runs that end in an error are counted, not failures of this.
[[nodiscard]] result<measured_runs> measure_runs(const run_options& options);

/// Blocking. Runs a floor program, which prints one JSON object with "per_s", and returns that figure.
/// error_class::harness when it is missing, fails, or prints something else.
[[nodiscard]] result<double> measure_floor(const std::filesystem::path& program,
                                           const std::vector<std::string>& arguments);

/// The folder that this executable lies in; floors and the native example are below it.
[[nodiscard]] std::filesystem::path build_folder();

} // namespace chalk::cli::bench
