/// `chalk bench cluster`: a coordinator with its real decisions and journal, and nodes that are simulated in virtual
/// time. Only transport and clock are replaced, so what it takes of real time is what a coordinator costs.
#pragma once

#include "protocol/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace chalk::cli::bench {

struct cluster_options {
    std::vector<std::size_t> nodes{10, 100, 1000}; ///< one measurement each
    std::uint64_t runs = 100'000;
    std::uint32_t seed = 1;
    std::filesystem::path folder; ///< for the journals
};

struct clustered {
    std::size_t nodes = 0;
    std::uint64_t runs = 0;
    double seconds = 0;         ///< of real time, journal and simulated nodes among it
    double cpu_seconds = 0;     ///< of this process meanwhile
    double virtual_seconds = 0; ///< from the start to the last outcome
    std::uint64_t placements = 0;
    std::uint64_t errors = 0; ///< outcomes of class error
    std::uint64_t nodes_lost = 0;
    std::uint64_t runs_lost = 0; ///< attempts that were lost with their node
    std::uint64_t run_again = 0; ///< of those
    std::uint64_t late_results = 0;
    std::uint64_t rows = 0; ///< of the journal
    std::uint64_t syncs = 0;
    std::uint64_t peak_memory = 0; ///< resident bytes, at most, of the whole process
};

/// Blocking. error_class::harness: not exactly one outcome a run, or the journal failed.
[[nodiscard]] result<clustered> measure_cluster(const cluster_options& options, std::size_t nodes);

} // namespace chalk::cli::bench
