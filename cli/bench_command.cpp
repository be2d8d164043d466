#include "cli/bench/cases.hpp"
#include "cli/commands.hpp"
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

struct bench_flags {
    bench::case_options options;
    std::vector<std::string> cases; ///< empty: all
    bool as_json = false;
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

exit_code bench_harness(const bench_flags& flags) {
    const scratch folder;
    if (folder.path().empty()) {
        fmt::print(stderr, "chalk bench: cannot make a folder in {}\n", fs::temp_directory_path().string());
        return exit_code::machine_lacks;
    }
    auto options = flags.options;
    options.folder = folder.path();
    json all = json::array();
    bool errors = false;
    for (const auto& one : bench::cases()) {
        if (!flags.cases.empty() && std::ranges::find(flags.cases, one.name) == flags.cases.end()) {
            continue;
        }
        const auto said = one.ask(options);
        if (!said) {
            fmt::print(stderr, "chalk bench: {}: {}\n", one.name, said.error().message);
            return exit_code::machine_lacks;
        }
        errors = errors || said->errors > 0;
        if (flags.as_json) {
            all.push_back(to_json(*said));
        } else {
            print(*said);
            std::fflush(stdout); // the next may take a while
        }
    }
    if (flags.as_json) {
        fmt::print("{}\n", all.dump(2));
    }
    return errors ? exit_code::run_error : exit_code::fine;
}

} // namespace

void add_bench_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("bench", "measures chalk beside what the machine alone can do");
    command->require_subcommand(1);
    auto* harness = command->add_subcommand("harness", "full lifecycles a second, each beside its floor");
    const auto flags = std::make_shared<bench_flags>();
    auto& options = flags->options;
    harness->add_option("--count", options.count, "runs of each case")->check(CLI::Range(1, 1'000'000));
    harness->add_option("--concurrency", options.concurrency, "runs at once")->check(CLI::Range(1, 10'000));
    harness->add_option("--waiting", options.waiting, "runs that wait at once in the case waiting")
        ->check(CLI::Range(1, 100'000));
    std::vector<std::string> names;
    for (const auto& one : bench::cases()) {
        names.emplace_back(one.name);
    }
    harness->add_option("--case", flags->cases, "only this one; may be given several times")
        ->check(CLI::IsMember(names));
    harness->add_flag("--json", flags->as_json, "one JSON array on stdout");
    harness->callback([flags, &code] { code = bench_harness(*flags); });
}

} // namespace chalk::cli
