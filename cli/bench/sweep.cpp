#include "cli/bench/sweep.hpp"

#include "cli/bench/journal_end.hpp"
#include "cli/bench/measure.hpp"
#include "cli/bench/own_use.hpp"
#include "cli/bench/silent_watcher.hpp"
#include "cli/sweep/sweep_settings.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace chalk::cli::bench {

namespace {

using clock = std::chrono::steady_clock;

run_options how_to_run(const sweep_bench_options& options) {
    auto how = example_runs("native");
    how.max_concurrent = options.at_once;
    return how;
}

std::string sweep_text(const sweep_bench_options& options) {
    const auto example = build_folder() / "examples/native";
    return dump_json({{"name", "bench"},
                      {"repeat", options.runs},
                      {"base",
                       {{"environment", example.string()},
                        {"use_fake_model", true},
                        {"fake_model", {{"script", (example / "fake_model.json").string()}}}}}});
}

/// One outcome a run, and how many of them are errors.
result<std::uint64_t> count_errors(const std::filesystem::path& folder, std::uint64_t runs) {
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    std::uint64_t ended = 0;
    std::uint64_t errors = 0;
    auto read = reader->for_each_run([&](const journal::run_row& row) {
        const auto* counted = row.counted();
        if (counted != nullptr && counted->ended) {
            ++ended;
            errors += counted->ended->how.status == outcome_status::error ? 1 : 0;
        }
        return true;
    });
    if (!read) {
        return read.error();
    }
    return ended == runs ? result<std::uint64_t>(errors)
                         : harness_failure(fmt::format("the journal has {} outcomes of {} runs", ended, runs));
}

/// The sweep alone.
result<void> run_sweep(const sweep_bench_options& options, const own_keys& keys, swept& out) {
    const auto text = sweep_text(options);
    auto file = config::load_sweep_file(text);
    if (!file) {
        return file.error();
    }
    sweep_options sweep;
    sweep.config = text;
    sweep.folder = options.folder / "sweep";
    sweep.how = how_to_run(options);
    io_thread io;
    auto site = sweep_site::prepare(io.context(), *file, sweep, keys);
    if (!site) {
        return failure_of(site.error());
    }
    auto opened = create_sweep(sweep.folder, *file, sweep.config, sweep.how);
    if (!opened) {
        return opened.error();
    }
    const auto watch = std::make_shared<silent_watcher>();
    auto end = watch->end();
    auto settings = make_sweep_settings(**site, sweep.folder, std::move(*opened), watch);
    if (!settings) {
        return settings.error();
    }
    journal_end journal;
    settings->journal->closed = journal.listener();
    const auto start = clock::now();
    const auto tree = actors::run_tree::start(io.context(), std::move(*settings));
    auto counts = end.get();
    const auto figures = journal.wait();
    if (!figures) {
        return counts ? figures.error() : counts.error();
    }
    out.seconds = std::chrono::duration<double>(clock::now() - start).count();
    out.actors = tree->actors_started();
    out.rows = figures->records;
    out.syncs = figures->batches + 2 * figures->checkpoints;
    return counts ? result<void>{} : result<void>(counts.error());
}

} // namespace

result<swept> measure_sweep(const sweep_bench_options& options, const own_keys& keys) {
    swept out;
    auto bare = how_to_run(options);
    bare.runs = options.bare_runs;
    bare.out = (options.folder / "bare.json").string();
    const auto measured = measure_runs(bare);
    if (!measured) {
        return measured.error();
    }
    out.bare_per_s = static_cast<double>(options.bare_runs) / measured->seconds;
    out.memory_before = resident_bytes();
    out.descriptors_before = open_descriptors();
    if (auto ran = run_sweep(options, keys, out); !ran) {
        return ran.error();
    }
    out.memory_after = resident_bytes();
    out.descriptors_after = open_descriptors();
    auto errors = count_errors(options.folder / "sweep", options.runs);
    if (!errors) {
        return errors.error();
    }
    out.runs = options.runs;
    out.errors = *errors;
    return out;
}

} // namespace chalk::cli::bench
