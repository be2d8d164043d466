#include "cli/bench/measure.hpp"
#include "cli/commands.hpp"
#include "protocol/event/event.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

struct bench_options {
    std::size_t count = 400;
    std::size_t concurrency = 8;
    std::size_t waiting = 2000;
    bool as_json = false;
};

/// One question and its answer, beside its floor where it has one.
struct answer {
    std::string question;
    double per_s = 0;
    double floor_per_s = 0; ///< 0: no floor
    std::size_t errors = 0;
    double kib_per_run = 0; ///< 0: not asked
};

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
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

run_options native_runs(const bench_options& options, const fs::path& out) {
    run_options runs;
    runs.config = (bench::build_folder() / "examples/native/run_config.json").string();
    runs.runs = options.count;
    runs.max_concurrent = options.concurrency;
    runs.out = out.string();
    runs.overcommit = 4; // the benchmark's own concurrency decides
    return runs;
}

result<answer> waiting_runs(const bench_options& options, const fs::path& folder) {
    run_options runs;
    runs.config = R"({"environment":"builtin:noop","run_id":"waiting","use_fake_model":true,)"
                  R"("fake_model":{"script":[[{"text":"Done."}]],"latency_ms":3000}})";
    runs.runs = options.waiting;
    runs.out = (folder / "waiting.json").string();
    runs.no_containerized = true;
    const auto before = bench::measure_runs([&] {
        auto one = runs;
        one.runs = 1;
        return one;
    }());
    if (!before) {
        return before.error();
    }
    const auto all = bench::measure_runs(runs);
    if (!all) {
        return all.error();
    }
    answer said{fmt::format("{} runs waiting on a model in one process", options.waiting)};
    said.errors = all->counts.errors;
    said.kib_per_run = static_cast<double>((all->peak_memory - before->peak_memory).count) / 1024.0 /
                       static_cast<double>(options.waiting);
    return said;
}

result<answer> in_process(const bench_options& options, const fs::path& folder) {
    auto runs = native_runs(options, folder / "in-process.json");
    runs.no_containerized = true;
    const auto measured = bench::measure_runs(runs);
    if (!measured) {
        return measured.error();
    }
    const fs::path floors = bench::build_folder() / "bench";
    const auto floor = bench::measure_floor(floors / "chalk-bench-lifecycle-floor",
                                            {(floors / "chalk-bench-trivial").string(), std::to_string(options.count),
                                             std::to_string(options.concurrency),
                                             std::to_string(measured->transcript_bytes), folder.string()});
    if (!floor) {
        return floor.error();
    }
    return answer{"lifecycles in one process, native environment",
                  static_cast<double>(options.count) / measured->seconds, *floor, measured->counts.errors};
}

result<answer> in_sandboxes(const bench_options& options, const fs::path& folder) {
    auto runs = native_runs(options, folder / "sandboxes.json");
    runs.memory = 512_MiB;
    runs.disk = 64_MiB;
    const auto measured = bench::measure_runs(runs);
    if (!measured) {
        return measured.error();
    }
    const auto floor = bench::measure_floor(
        bench::build_folder() / "bench/chalk-bench-sandbox-floor",
        {"--count", std::to_string(options.count), "--concurrency", std::to_string(options.concurrency)});
    if (!floor) {
        return floor.error();
    }
    return answer{"lifecycles in namespaces sandboxes, native environment",
                  static_cast<double>(options.count) / measured->seconds, *floor, measured->counts.errors};
}

void print(const answer& said) {
    fmt::print("{}:", said.question);
    if (said.per_s > 0) {
        fmt::print(" {:.1f}/s", said.per_s);
    }
    if (said.floor_per_s > 0) {
        fmt::print(", floor {:.1f}/s, {:.2f} times the floor's time", said.floor_per_s, said.floor_per_s / said.per_s);
    }
    if (said.kib_per_run > 0) {
        fmt::print(" {:.1f} KiB a run", said.kib_per_run);
    }
    fmt::print("{}\n", said.errors > 0 ? fmt::format(", {} runs ended in an error", said.errors) : "");
}

json to_json(const answer& said) {
    json out = {{"question", said.question}, {"errors", said.errors}};
    if (said.per_s > 0) {
        out["per_s"] = said.per_s;
    }
    if (said.floor_per_s > 0) {
        out["floor_per_s"] = said.floor_per_s;
        out["times_floor"] = said.floor_per_s / said.per_s;
    }
    if (said.kib_per_run > 0) {
        out["kib_per_run"] = said.kib_per_run;
    }
    return out;
}

exit_code bench_harness(const bench_options& options) {
    const scratch folder;
    if (folder.path().empty()) {
        fmt::print(stderr, "chalk bench: cannot make a folder in {}\n", fs::temp_directory_path().string());
        return exit_code::machine_lacks;
    }
    json all = json::array();
    bool errors = false;
    for (const auto ask : {waiting_runs, in_process, in_sandboxes}) {
        const auto said = ask(options, folder.path());
        if (!said) {
            fmt::print(stderr, "chalk bench: {}\n", said.error().message);
            return exit_code::machine_lacks;
        }
        errors = errors || said->errors > 0;
        if (options.as_json) {
            all.push_back(to_json(*said));
        } else {
            print(*said);
        }
    }
    if (options.as_json) {
        fmt::print("{}\n", all.dump(2));
    }
    return errors ? exit_code::run_error : exit_code::fine;
}

} // namespace

void add_bench_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("bench", "measures chalk beside what the machine alone can do");
    command->require_subcommand(1);
    auto* harness = command->add_subcommand("harness", "full lifecycles a second, each beside its floor");
    const auto options = std::make_shared<bench_options>();
    harness->add_option("--count", options->count, "runs of each case")->check(CLI::Range(1, 1'000'000));
    harness->add_option("--concurrency", options->concurrency, "runs at once")->check(CLI::Range(1, 10'000));
    harness->add_option("--waiting", options->waiting, "runs that wait at once in the memory case")
        ->check(CLI::Range(1, 100'000));
    harness->add_flag("--json", options->as_json, "one JSON array on stdout");
    harness->callback([options, &code] { code = bench_harness(*options); });
}

} // namespace chalk::cli
