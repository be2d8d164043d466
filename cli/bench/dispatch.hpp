/// `chalk bench dispatch`: empty runs through the whole tree with a durable journal. Each is a run actor with its
/// harness, agent, tool server and environment actors; nothing but processes, sockets and transcripts is left out.
#pragma once

#include "protocol/core/result.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>

namespace chalk::cli::bench {

struct dispatch_options {
    std::uint64_t runs = 100'000;
    std::uint64_t cells = 100;
    std::size_t at_once = 1000;
    std::filesystem::path folder; ///< for the journal
};

struct dispatched {
    double seconds = 0;       ///< from the start of the tree to the end of the journal
    double first_tenth_s = 0; ///< until a tenth of the runs had their outcome
    double last_tenth_s = 0;  ///< the last tenth's time
    std::uint64_t runs = 0;
    std::uint64_t errors = 0;   ///< outcomes of class error, by the journal
    std::uint64_t injected = 0; ///< that were to fail; each has its class in the journal, or this is a failure
    std::uint64_t actors = 0;   ///< that were started, those of the tree itself among them
    std::uint64_t rows = 0;     ///< of the journal
    std::uint64_t syncs = 0;
    std::uint64_t memory_early = 0; ///< resident bytes after a tenth of the runs
    std::uint64_t memory_late = 0;  ///< at the end
};

/// Blocking. error_class::harness: outcomes that are not what was asked for.
[[nodiscard]] result<dispatched> measure_dispatch(const dispatch_options& options);

} // namespace chalk::cli::bench
