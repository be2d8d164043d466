#include "cli/bench/cases.hpp"
#include "cli/bench/cluster.hpp"
#include "cli/bench/dispatch.hpp"
#include "cli/bench/sweep.hpp"
#include "cli/refused.hpp"
#include "protocol/event/event.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

/// A private folder for transcripts, gone when the benchmark ends.
class scratch {
  public:
    scratch() {
        std::string name = (fs::temp_directory_path() / "chalk-bench-XXXXXX").string();
        path_ = ::mkdtemp(name.data()) != nullptr ? fs::path(name) : fs::path();
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    ~scratch() {
        std::error_code ignored; // what is left is in the temporary folder
        fs::remove_all(path_, ignored);
    }
    /// Empty: it could not be made.
    [[nodiscard]] const fs::path& path() const { return path_; }
    [[nodiscard]] static refused missing() {
        return {exit_code::machine_lacks,
                fmt::format("cannot make a folder in {}", fs::temp_directory_path().string())};
    }

  private:
    fs::path path_;
};

void print(const bench::answer& said) {
    fmt::print("{}:", said.question);
    const char* comma = "";
    for (const auto& figure : said.figures) {
        fmt::print("{} {:.{}f} {}", comma, figure.value, figure.value < 10 ? 2 : 1, figure.unit);
        comma = ",";
    }
    if (said.floor_per_s > 0) {
        fmt::print(", floor {:.1f}/s, {:.2f} times the floor's time", said.floor_per_s, said.times_floor());
    }
    fmt::print("{}\n", said.errors > 0 ? fmt::format(", {} runs ended in an error", said.errors) : "");
}

json to_json(const bench::answer& said) {
    json out = {{"question", said.question}, {"errors", said.errors}};
    for (const auto& figure : said.figures) {
        out[figure.key] = figure.value;
    }
    if (said.floor_per_s > 0) {
        out["floor_per_s"] = said.floor_per_s;
        out["times_floor"] = said.times_floor();
    }
    return out;
}

/// `which`: names of cases; empty: all.
exit_code bench_harness(const bench::case_options& options, const std::vector<std::string>& which, bool as_json) {
    json all = json::array();
    bool errors = false;
    for (const auto& one : bench::cases()) {
        if (!which.empty() && std::ranges::find(which, one.name) == which.end()) {
            continue;
        }
        const auto said = one.ask(options);
        if (!said) {
            fmt::print(stderr, "chalk bench: {}: {}\n", one.name, said.error().message);
            return exit_code::machine_lacks;
        }
        errors = errors || said->errors > 0;
        if (as_json) {
            all.push_back(to_json(*said));
        } else {
            print(*said);
            std::fflush(stdout); // the next may take a while
        }
    }
    if (as_json) {
        fmt::print("{}\n", all.dump(2));
    }
    return errors ? exit_code::run_error : exit_code::fine;
}

exit_code bench_dispatch(const bench::dispatch_options& options, bool as_json) {
    const auto said = bench::measure_dispatch(options);
    if (!said) {
        return refuse("chalk bench dispatch", said.error(), exit_code::run_error);
    }
    const auto runs = static_cast<double>(said->runs);
    const json out = {{"runs", said->runs},
                      {"per_s", runs / said->seconds},
                      {"errors", said->errors},
                      {"injected", said->injected},
                      {"actors_per_run", static_cast<double>(said->actors) / runs},
                      {"journal_rows_per_run", static_cast<double>(said->rows) / runs},
                      {"journal_syncs_per_run", static_cast<double>(said->syncs) / runs},
                      {"first_tenth_per_s", runs / 10 / said->first_tenth_s},
                      {"last_tenth_per_s", runs / 10 / said->last_tenth_s},
                      {"memory_bytes_after_a_tenth", said->memory_early},
                      {"memory_bytes_at_the_end", said->memory_late}};
    if (as_json) {
        fmt::print("{}\n", out.dump(2));
        return exit_code::fine;
    }
    fmt::print(
        "{} empty runs: {:.0f}/s (first tenth {:.0f}/s, last tenth {:.0f}/s), {} ended in error as injected\n"
        "a run: {:.2f} actors, {:.2f} journal rows, {:.4f} syncs; memory {:.1f} MiB after a tenth, {:.1f} MiB at the "
        "end\n",
        said->runs, out["per_s"].get<double>(), out["first_tenth_per_s"].get<double>(),
        out["last_tenth_per_s"].get<double>(), said->errors, out["actors_per_run"].get<double>(),
        out["journal_rows_per_run"].get<double>(), out["journal_syncs_per_run"].get<double>(),
        static_cast<double>(said->memory_early) / (1 << 20), static_cast<double>(said->memory_late) / (1 << 20));
    return exit_code::fine;
}

json to_json(const bench::clustered& said) {
    return {{"nodes", said.nodes},
            {"runs", said.runs},
            {"placements", said.placements},
            {"placements_per_s", static_cast<double>(said.placements) / said.seconds},
            {"placements_per_cpu_s", static_cast<double>(said.placements) / said.cpu_seconds},
            {"virtual_seconds", said.virtual_seconds},
            {"errors", said.errors},
            {"nodes_lost", said.nodes_lost},
            {"runs_lost", said.runs_lost},
            {"run_again", said.run_again},
            {"late_results", said.late_results},
            {"journal_rows", said.rows},
            {"journal_syncs", said.syncs},
            {"peak_memory_bytes", said.peak_memory}};
}

void print(const bench::clustered& said) {
    fmt::print("{} nodes, {} runs: {} placements, {:.0f}/s and {:.0f} for each second of cpu; {:.1f} MiB at most\n"
               "  {} journal rows, {} syncs; {} nodes lost and {} runs with them, {} run again, {} results too late\n"
               "  {:.1f} s of virtual time; {} ended in error as injected\n",
               said.nodes, said.runs, said.placements, static_cast<double>(said.placements) / said.seconds,
               static_cast<double>(said.placements) / said.cpu_seconds,
               static_cast<double>(said.peak_memory) / (1 << 20), said.rows, said.syncs, said.nodes_lost,
               said.runs_lost, said.run_again, said.late_results, said.virtual_seconds, said.errors);
    std::fflush(stdout); // the next may take a while
}

exit_code bench_cluster(const bench::cluster_options& options, bool as_json) {
    json all = json::array();
    for (const auto nodes : options.nodes) {
        const auto said = bench::measure_cluster(options, nodes);
        if (!said) {
            return refuse("chalk bench cluster", said.error(), exit_code::run_error);
        }
        if (as_json) {
            all.push_back(to_json(*said));
        } else {
            print(*said);
        }
    }
    if (as_json) {
        fmt::print("{}\n", all.dump(2));
    }
    return exit_code::fine;
}

exit_code bench_sweep(const bench::sweep_bench_options& options, const own_keys& keys, bool as_json) {
    const auto said = bench::measure_sweep(options, keys);
    if (!said) {
        return refuse("chalk bench sweep", said.error(),
                      said.error().kind == error_class::sandbox ? exit_code::machine_lacks : exit_code::run_error);
    }
    const auto runs = static_cast<double>(said->runs);
    const double per_s = runs / said->seconds;
    const json out = {{"runs", said->runs},
                      {"errors", said->errors},
                      {"per_s", per_s},
                      {"bare_per_s", said->bare_per_s},
                      {"of_bare", per_s / said->bare_per_s},
                      {"actors_per_run", static_cast<double>(said->actors) / runs},
                      {"journal_rows_per_run", static_cast<double>(said->rows) / runs},
                      {"journal_syncs_per_run", static_cast<double>(said->syncs) / runs},
                      {"memory_bytes_before", said->memory_before},
                      {"memory_bytes_after", said->memory_after},
                      {"descriptors_before", said->descriptors_before},
                      {"descriptors_after", said->descriptors_after}};
    if (as_json) {
        fmt::print("{}\n", out.dump(2));
    } else {
        fmt::print("{} runs in sandboxes: {:.1f}/s, {:.0f} % of the {:.1f}/s without a sweep; {} ended in error\n"
                   "a run: {:.2f} actors, {:.2f} journal rows, {:.4f} syncs\n"
                   "before and after: {:.1f} and {:.1f} MiB, {} and {} open descriptors\n",
                   said->runs, per_s, 100 * per_s / said->bare_per_s, said->bare_per_s, said->errors,
                   out["actors_per_run"].get<double>(), out["journal_rows_per_run"].get<double>(),
                   out["journal_syncs_per_run"].get<double>(), static_cast<double>(said->memory_before) / (1 << 20),
                   static_cast<double>(said->memory_after) / (1 << 20), said->descriptors_before,
                   said->descriptors_after);
    }
    return said->errors > 0 ? exit_code::run_error : exit_code::fine;
}

/// Lets `command` measure when it is chosen: calls `measure(options, as_json)` with a folder that is gone afterwards.
template<class Options, class Measure>
void let_measure(CLI::App& command, const std::shared_ptr<Options>& options, exit_code& code, Measure measure) {
    const auto as_json = std::make_shared<bool>(false);
    command.add_flag("--json", *as_json, "as JSON on stdout");
    command.callback([=, &code] {
        const scratch folder;
        if (folder.path().empty()) {
            code = refuse("chalk bench", scratch::missing());
            return;
        }
        options->folder = folder.path();
        code = measure(*options, *as_json);
    });
}

void add_harness(CLI::App& bench, exit_code& code) {
    auto* harness = bench.add_subcommand("harness", "full lifecycles a second, each beside its floor");
    const auto options = std::make_shared<bench::case_options>();
    const auto which = std::make_shared<std::vector<std::string>>();
    harness->add_option("--count", options->count, "runs of each case")->check(CLI::Range(1, 1'000'000));
    harness->add_option("--concurrency", options->concurrency, "runs at once")->check(CLI::Range(1, 10'000));
    harness->add_option("--waiting", options->waiting, "runs that wait at once in the case waiting")
        ->check(CLI::Range(1, 100'000));
    std::vector<std::string> names;
    for (const auto& one : bench::cases()) {
        names.emplace_back(one.name);
    }
    harness->add_option("--case", *which, "only this one; may be given several times")->check(CLI::IsMember(names));
    let_measure(*harness, options, code, [which](const bench::case_options& chosen, bool as_json) {
        return bench_harness(chosen, *which, as_json);
    });
}

void add_dispatch(CLI::App& bench, exit_code& code) {
    auto* dispatch = bench.add_subcommand("dispatch", "empty runs through the whole tree, with a durable journal");
    const auto options = std::make_shared<bench::dispatch_options>();
    dispatch->add_option("--count", options->runs, "runs")->check(CLI::Range(10, 100'000'000));
    dispatch->add_option("--cells", options->cells, "cells that they are of")->check(CLI::Range(1, 1'000'000));
    dispatch->add_option("--concurrency", options->at_once, "runs at once")->check(CLI::Range(1, 100'000));
    let_measure(*dispatch, options, code, bench_dispatch);
}

void add_bench_cluster(CLI::App& bench, exit_code& code) {
    auto* cluster = bench.add_subcommand("cluster", "a coordinator with its journal, on simulated nodes");
    const auto options = std::make_shared<bench::cluster_options>();
    cluster->add_option("--nodes", options->nodes, "how many, several sizes with commas")
        ->delimiter(',')
        ->check(CLI::Range(1, 100'000));
    cluster->add_option("--runs", options->runs, "runs of each size")->check(CLI::Range(1, 100'000'000));
    cluster->add_option("--seed", options->seed, "of latencies, durations and losses");
    let_measure(*cluster, options, code, bench_cluster);
}

void add_bench_sweep(CLI::App& bench, const own_keys& keys, exit_code& code) {
    auto* sweep = bench.add_subcommand("sweep", "a sweep in sandboxes, beside the same runs without one");
    const auto options = std::make_shared<bench::sweep_bench_options>();
    sweep->add_option("--count", options->runs, "runs of the sweep")->check(CLI::Range(1, 1'000'000));
    sweep->add_option("--bare-count", options->bare_runs, "runs without it")->check(CLI::Range(1, 1'000'000));
    sweep->add_option("--concurrency", options->at_once, "runs at once")->check(CLI::Range(1, 10'000));
    let_measure(*sweep, options, code, [&keys](const bench::sweep_bench_options& chosen, bool as_json) {
        return bench_sweep(chosen, keys, as_json);
    });
}

} // namespace

void add_bench_command(CLI::App& app, const own_keys& keys, exit_code& code) {
    auto* command = app.add_subcommand("bench", "measures chalk beside what the machine alone can do");
    command->require_subcommand(1);
    add_harness(*command, code);
    add_dispatch(*command, code);
    add_bench_sweep(*command, keys, code);
    add_bench_cluster(*command, code);
}

} // namespace chalk::cli
