#include "cli/bench/measure.hpp"

#include "cli/bench/silent_watcher.hpp"
#include "cli/run/tree_settings.hpp"
#include "protocol/event/event.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include <sys/resource.h>

namespace chalk::cli::bench {

namespace fs = std::filesystem;

namespace {

bytes peak_memory() {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    return bytes{static_cast<std::uint64_t>(use.ru_maxrss) << 10U};
}

double cpu_seconds() {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// Watches what this process takes of a core, a second at a time.
class cpu_watch {
  public:
    /// The share of a core in the quietest second; 1 when it was stopped before one had passed.
    double stop() {
        thread_.request_stop();
        thread_.join();
        return quietest_;
    }

  private:
    void look(const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any stopped;
        for (double before = cpu_seconds();; before = cpu_seconds()) {
            if (stopped.wait_for(lock, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); })) {
                return;
            }
            quietest_ = std::min(quietest_, cpu_seconds() - before);
        }
    }

    double quietest_ = 1; ///< read after the thread has ended
    std::jthread thread_{[this](const std::stop_token& stop) { look(stop); }};
};

std::uint64_t mean_size(const std::vector<config::run_config>& runs) {
    std::uint64_t total = 0;
    for (const auto& run : runs) {
        std::error_code ec;
        const auto size = fs::file_size(run.transcript_file, ec);
        total += ec ? 0 : size;
    }
    return total / runs.size();
}

} // namespace

failure failure_of(const refused& why) {
    return why.code == exit_code::machine_lacks ? sandbox_failure(why.message) : config_failure(why.message);
}

result<measured_runs> measure_runs(const run_options& options) {
    io_thread io;
    auto prepared = prepare_runs(io.context(), options);
    if (!prepared) {
        return failure_of(prepared.error());
    }
    auto runs = config::split(prepared->base, options.runs);
    if (!runs) {
        return runs.error();
    }
    const auto watch = std::make_shared<silent_watcher>();
    auto end = watch->end();
    auto settings = make_tree_settings(*prepared, options, *runs, watch);
    if (!settings) {
        return settings.error();
    }
    cpu_watch cpu;
    const auto start = std::chrono::steady_clock::now();
    const auto tree = actors::run_tree::start(io.context(), std::move(*settings));
    auto counts = end.get();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const double quietest = cpu.stop();
    if (!counts) {
        return counts.error();
    }
    return measured_runs{took.count(), *counts, mean_size(*runs), peak_memory(), quietest};
}

result<double> measure_floor(const fs::path& program, const std::vector<std::string>& arguments) {
    if (!fs::exists(program)) {
        return harness_failure(
            fmt::format("{} is not there: build the target all of the release preset", program.string()));
    }
    // Arguments are numbers and paths of ours; quoting covers a build folder with spaces.
    std::string line = fmt::format("'{}'", program.string());
    for (const auto& argument : arguments) {
        line += fmt::format(" '{}'", argument);
    }
    const auto close = [](std::FILE* file) { ::pclose(file); };
    std::unique_ptr<std::FILE, decltype(close)> output(::popen(line.c_str(), "re"), close);
    std::string text(4096, '\0');
    text.resize(output ? std::fread(text.data(), 1, text.size(), output.get()) : 0);
    const auto said = parse_json(text);
    if (!said || !said->is_object() || !said->contains("per_s") || !(*said)["per_s"].is_number()) {
        return harness_failure(fmt::format("{} printed no figure: {}", program.string(), text));
    }
    return (*said)["per_s"].get<double>();
}

run_options example_runs(const char* example) {
    run_options runs;
    runs.config = (build_folder() / "examples" / example / "run_config.json").string();
    runs.overcommit = 4;
    runs.memory = 512_MiB;
    runs.disk = 64_MiB;
    return runs;
}

fs::path build_folder() {
    std::error_code ec;
    return fs::read_symlink("/proc/self/exe", ec).parent_path();
}

} // namespace chalk::cli::bench
