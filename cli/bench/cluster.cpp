#include "cli/bench/cluster.hpp"

#include "cli/bench/own_use.hpp"
#include "cli/bench/simulated_cluster.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace chalk::cli::bench {

namespace {

/// The journal has one outcome of each run, and that many of them are errors.
result<void> check_simulated(const std::filesystem::path& folder, std::uint64_t runs, std::uint64_t errors) {
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    std::uint64_t ended = 0;
    std::uint64_t failed = 0;
    auto read = reader->for_each_run([&](const journal::run_row& row) {
        const auto counts = std::ranges::count_if(row.attempts, &journal::attempt_row::counts);
        const auto* counted = row.counted();
        if (counts == 1 && counted != nullptr && counted->ended) {
            ++ended;
            failed += counted->ended->how.status == outcome_status::error ? 1 : 0;
        }
        return true;
    });
    if (!read) {
        return read.error();
    }
    if (ended != runs || failed != errors) {
        return harness_failure(fmt::format("the journal has {} outcomes of {} runs, {} of them errors and not {}",
                                           ended, runs, failed, errors));
    }
    const auto left = reader->open_attempts();
    if (!left) {
        return left.error();
    }
    return left->empty() ? result<void>{} : harness_failure(fmt::format("{} attempts have no end", left->size()));
}

} // namespace

result<clustered> measure_cluster(const cluster_options& options, std::size_t nodes) {
    const auto folder = options.folder / fmt::format("{}-nodes", nodes);
    auto file = journal::journal_file::create(folder);
    if (!file) {
        return file.error();
    }
    simulated_cluster::plan plan;
    plan.nodes = nodes;
    plan.cells = std::min<std::uint64_t>(100, options.runs);
    plan.repeats = options.runs / plan.cells;
    plan.seed = options.seed;
    const std::uint64_t runs = plan.cells * plan.repeats;
    forget_peak_memory();
    const auto cpu_before = used_cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    const auto said = simulated_cluster(plan, *file).run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const double cpu = used_cpu_seconds() - cpu_before;
    if (!said) {
        return said.error();
    }
    const auto peak = peak_resident_bytes();
    if (auto right = check_simulated(folder, runs, said->errors); !right) {
        return right.error();
    }
    const auto& written = file->written();
    return clustered{.nodes = nodes,
                     .runs = runs,
                     .seconds = took.count(),
                     .cpu_seconds = cpu,
                     .virtual_seconds = std::chrono::duration<double>(said->last_outcome).count(),
                     .placements = said->placements,
                     .errors = said->errors,
                     .nodes_lost = said->nodes_lost,
                     .runs_lost = said->runs_lost,
                     .run_again = said->run_again,
                     .late_results = said->late_results,
                     .rows = written.records,
                     .syncs = written.batches + 2 * written.checkpoints,
                     .peak_memory = peak};
}

} // namespace chalk::cli::bench
