#include "cli/bench/cases.hpp"

#include "cli/bench/measure.hpp"

#include <fmt/format.h>

namespace chalk::cli::bench {

namespace fs = std::filesystem;

namespace {

constexpr const char* per_s = "/s";

run_options runs_of(const case_options& options, const char* example, const char* transcript) {
    auto runs = example_runs(example);
    runs.runs = options.count;
    runs.max_concurrent = options.concurrency;
    runs.out = (options.folder / transcript).string();
    return runs;
}

answer rate(std::string question, const case_options& options, const measured_runs& measured, double floor) {
    return {std::move(question),
            {{"per_s", static_cast<double>(options.count) / measured.seconds, per_s}},
            floor,
            measured.counts.errors};
}

result<answer> start(const case_options& options) {
    const fs::path folder = build_folder();
    const auto ours = measure_starts({(folder / "chalk").string(), "--version"}, options.count, 1);
    const auto floor = measure_starts({(folder / "bench/chalk-bench-trivial").string()}, options.count, 1);
    if (!ours || !floor) {
        return ours ? floor.error() : ours.error();
    }
    return answer{
        "chalk --version, one after the other", {{"per_s", *ours, per_s}, {"ms", 1000 / *ours, "ms"}}, *floor, 0};
}

result<answer> waiting(const case_options& options) {
    run_options runs;
    runs.config = R"({"environment":"builtin:noop","run_id":"waiting","use_fake_model":true,)"
                  R"("fake_model":{"script":[[{"text":"Done."}]],"latency_ms":6000}})";
    runs.runs = 1;
    runs.out = (options.folder / "waiting.json").string();
    runs.no_containerized = true;
    const auto one = measure_runs(runs);
    if (!one) {
        return one.error();
    }
    runs.runs = options.waiting;
    const auto all = measure_runs(runs);
    if (!all) {
        return all.error();
    }
    const double kib = static_cast<double>((all->peak_memory - one->peak_memory).count) / 1024.0;
    return answer{fmt::format("{} runs waiting on a model in one process", options.waiting),
                  {{"kib_per_run", kib / static_cast<double>(options.waiting), "KiB a run"},
                   {"core_percent", 100 * all->quietest_core_share, "% of a core in the quietest second"}},
                  0,
                  all->counts.errors};
}

result<answer> one_process(const case_options& options) {
    auto runs = runs_of(options, "native", "one-process.json");
    runs.memory.reset();
    runs.disk.reset();
    runs.no_containerized = true;
    const auto measured = measure_runs(runs);
    if (!measured) {
        return measured.error();
    }
    const fs::path floors = build_folder() / "bench";
    const auto floor = measure_floor(floors / "chalk-bench-lifecycle-floor",
                                     {(floors / "chalk-bench-trivial").string(), std::to_string(options.count),
                                      std::to_string(options.concurrency), std::to_string(measured->transcript_bytes),
                                      options.folder.string()});
    if (!floor) {
        return floor.error();
    }
    return rate("lifecycles in one process, native environment", options, *measured, *floor);
}

result<double> sandbox_floor(const case_options& options) {
    return measure_floor(
        build_folder() / "bench/chalk-bench-sandbox-floor",
        {"--count", std::to_string(options.count), "--concurrency", std::to_string(options.concurrency)});
}

result<answer> bare_sandboxes(const case_options& options) {
    const auto ours = measure_bare_sandboxes(options.count, options.concurrency);
    const auto floor = sandbox_floor(options);
    if (!ours || !floor) {
        return ours ? floor.error() : ours.error();
    }
    return answer{"bare namespaces sandboxes, with caps and teardown", {{"per_s", *ours, per_s}}, *floor, 0};
}

result<answer> native_in_sandboxes(const case_options& options) {
    const auto measured = measure_runs(runs_of(options, "native", "native.json"));
    const auto floor = sandbox_floor(options);
    if (!measured || !floor) {
        return measured ? floor.error() : measured.error();
    }
    return rate("lifecycles in namespaces sandboxes, native environment", options, *measured, *floor);
}

result<answer> python_in_sandboxes(const case_options& options) {
    const auto measured = measure_runs(runs_of(options, "hello", "python.json"));
    const auto floor =
        measure_starts({"/usr/bin/python3", "-I", "-S", "-c", "import json"}, options.count, options.concurrency);
    if (!measured || !floor) {
        return measured ? floor.error() : measured.error();
    }
    return rate("lifecycles in namespaces sandboxes, Python environment, cold", options, *measured, *floor);
}

} // namespace

const std::vector<bench_case>& cases() {
    static const std::vector<bench_case> all = {
        {"start", start},
        {"waiting", waiting},
        {"one-process", one_process},
        {"bare", bare_sandboxes},
        {"native", native_in_sandboxes},
        {"python", python_in_sandboxes},
    };
    return all;
}

} // namespace chalk::cli::bench
