/// `chalk bench sweep`: a whole sweep of the native example in namespaces sandboxes, by the classes of `chalk sweep`,
/// beside what `chalk bench harness` makes of the same runs without a sweep.
#pragma once

#include "protocol/core/own_keys.hpp"
#include "protocol/core/result.hpp"

#include <cstdint>
#include <filesystem>

namespace chalk::cli::bench {

struct sweep_bench_options {
    std::uint64_t runs = 1000;
    std::uint64_t bare_runs = 400; ///< of the case native, which comes first; both have the same number at once
    std::size_t at_once = 8;
    std::filesystem::path folder; ///< for the sweep and the transcripts
};

struct swept {
    double seconds = 0; ///< from the start of the tree to the end of the journal
    double bare_per_s = 0;
    std::uint64_t runs = 0;   ///< outcomes in the journal, one a run
    std::uint64_t errors = 0; ///< of class error
    std::uint64_t actors = 0; ///< of this process that were started
    std::uint64_t rows = 0;   ///< of the journal
    std::uint64_t syncs = 0;
    std::uint64_t memory_before = 0; ///< resident bytes, after the bare runs
    std::uint64_t memory_after = 0;
    std::size_t descriptors_before = 0;
    std::size_t descriptors_after = 0;
};

/// Blocking, as root. error_class::harness: an outcome is missing. error_class::sandbox: the machine lacks something.
[[nodiscard]] result<swept> measure_sweep(const sweep_bench_options& options, const own_keys& keys);

} // namespace chalk::cli::bench
