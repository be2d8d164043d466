#include "cli/bench/dispatch.hpp"

#include "actors/tree.hpp"
#include "cli/bench/journal_end.hpp"
#include "cli/bench/own_use.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <future>
#include <mutex>

namespace chalk::cli::bench {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;

/// One run of a hundred is to fail, each with the next class.
constexpr std::uint64_t fails_every = 100;

std::optional<error_class> injected(std::uint64_t run) {
    if (run % fails_every != 0) {
        return std::nullopt;
    }
    return static_cast<error_class>(run / fails_every % error_class_names.size());
}

/// Notes when each tenth had ended.
class stopwatch final : public actors::watcher {
  public:
    explicit stopwatch(std::uint64_t runs) : runs_(runs) {}

    [[nodiscard]] bool wants_events() const noexcept override { return false; }
    void run_began(const actors::run_order&) override {}
    void run_event(const actors::run_order&, const event_ptr&) override {}
    void run_prepared(const actors::run_order&) override {}
    void attempt_finished(const actors::run_result&, const actors::sweep_counts&) override {}
    void sweep_said(const std::string& text) override { fmt::print(stderr, "chalk bench: {}\n", text); }
    void run_finished(const actors::run_result&, const actors::sweep_counts& counts) override {
        const auto ended = counts.ended();
        if (ended == runs_ / 10) {
            first_tenth = clock::now();
            memory_early = resident_bytes();
        } else if (ended == runs_ - runs_ / 10) {
            last_tenth = clock::now();
        }
    }
    void sweep_finished(const actors::sweep_counts& counts, const std::optional<failure>& trouble) override {
        memory_late = resident_bytes();
        if (trouble) {
            end_.set_value(*trouble);
        } else {
            end_.set_value(counts);
        }
    }
    [[nodiscard]] std::future<result<actors::sweep_counts>> end() { return end_.get_future(); }

    clock::time_point first_tenth; // read after the end
    clock::time_point last_tenth;
    std::uint64_t memory_early = 0;
    std::uint64_t memory_late = 0;

  private:
    std::uint64_t runs_;
    std::promise<result<actors::sweep_counts>> end_;
};

actors::order_ptr make_order(const dispatch_options& options, std::uint64_t repeats, actors::run_key key,
                             attempt_number attempt) {
    const std::uint64_t number = key.cell * repeats + key.index;
    auto order = std::make_shared<actors::run_order>();
    order->key = key;
    order->attempt = attempt;
    order->config.id = run_id::parse(fmt::format("dispatch.{}.{}", key.cell, key.index)).value();
    order->config.environment = config::noop_environment;
    order->config.use_fake_model = true;
    order->config.fake.script = json::array({json::array({{{"text", "done"}}})});
    order->config.transcript_file = options.folder / "none";
    order->header.run_id = order->config.id.str();
    order->header.config = json::object();
    order->reservation = {.memory = {}, .disk = {}, .processes = 0, .milli_cpus = 1, .open_files = 0};
    order->sandboxed = false;
    order->transcript = false;
    order->mcp_port = false;
    if (const auto kind = injected(number)) {
        order->refused = failure{*kind, "injected"};
    }
    return order;
}

journal::cell_described describe(std::uint64_t cell) {
    return {.number = journal::cell_number{cell},
            .id = fmt::format("{:016x}", cell),
            .label = fmt::format("cell={}", cell),
            .values = "{}",
            .config_digest = {},
            .environment_digest = {},
            .image_digest = {}};
}

/// Each run of the journal ended as it was to.
result<std::uint64_t> check_outcomes(const fs::path& folder, std::uint64_t runs) {
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    std::uint64_t seen = 0;
    std::uint64_t errors = 0;
    std::string wrong;
    auto read = reader->for_each_run([&](const journal::run_row& row) {
        const auto* counted = row.counted();
        const auto wanted = injected(static_cast<std::uint64_t>(row.run));
        const bool right = counted != nullptr && counted->ended && counted->ended->how.kind == wanted;
        if (!right && wrong.empty()) {
            wrong = fmt::format("run {} did not end as it was to", static_cast<std::uint64_t>(row.run));
        }
        errors += wanted ? 1 : 0;
        ++seen;
        return true;
    });
    if (!read) {
        return read.error();
    }
    if (wrong.empty() && seen != runs) {
        wrong = fmt::format("{} outcomes of {} runs", seen, runs);
    }
    return wrong.empty() ? result<std::uint64_t>(errors) : harness_failure(wrong);
}

} // namespace

result<dispatched> measure_dispatch(const dispatch_options& options) {
    const std::uint64_t cells = std::min(options.cells, options.runs);
    const std::uint64_t repeats = options.runs / cells;
    const std::uint64_t runs = cells * repeats;
    const fs::path folder = options.folder / "sweep";
    auto file = journal::journal_file::create(folder);
    if (!file) {
        return file.error();
    }
    io_thread io;
    const auto watch = std::make_shared<stopwatch>(runs);
    auto end = watch->end();
    journal_end journal;
    const auto held = std::make_shared<std::optional<journal::journal_file>>(std::move(*file));
    actors::schedule_rules rules;
    rules.repeats = repeats;
    rules.retry.max_attempts = 1;
    actors::tree_settings settings;
    settings.plan.emplace(
        cells, [cells](std::uint64_t from) { return from < cells ? std::optional(from) : std::nullopt; }, rules);
    settings.make_order = [&](actors::run_key key, attempt_number attempt) {
        return make_order(options, repeats, key, attempt);
    };
    settings.capacity = {.memory = {},
                         .disk = {},
                         .processes = 0,
                         .milli_cpus = static_cast<std::uint32_t>(options.at_once),
                         .open_files = 0};
    settings.window = actors::with_slack(options.at_once);
    settings.watch = watch;
    settings.journal.emplace();
    settings.journal->open = [held]() -> result<journal::journal_file> {
        if (!*held) {
            return harness_failure("the journal actor crashed");
        }
        return std::move(*std::exchange(*held, std::nullopt));
    };
    settings.journal->closed = journal.listener();
    settings.journal->repeats = repeats;
    settings.journal->folder = folder;
    settings.journal->describe = describe;
    settings.journal->described = [](std::uint64_t) { return false; };
    settings.journal->first.push_back(journal::sweep_opened{.at = std::chrono::system_clock::now(),
                                                            .name = "dispatch",
                                                            .seed = 0,
                                                            .file_text = {},
                                                            .file_digest = {},
                                                            .document = "{}",
                                                            .prices_digest = {},
                                                            .repeats = repeats,
                                                            .cells = cells,
                                                            .total_runs = runs});
    const auto start = clock::now();
    auto tree = actors::run_tree::start(io.context(), std::move(settings));
    auto counts = end.get();
    const auto stop = clock::now();
    if (!counts) {
        return counts.error();
    }
    const auto figures = journal.wait();
    if (!figures) {
        return figures.error();
    }
    const auto actors = tree->actors_started();
    tree.reset();
    auto errors = check_outcomes(folder, runs);
    if (!errors) {
        return errors.error();
    }
    const auto seconds = [](clock::duration d) { return std::chrono::duration<double>(d).count(); };
    return dispatched{.seconds = seconds(stop - start),
                      .first_tenth_s = seconds(watch->first_tenth - start),
                      .last_tenth_s = seconds(stop - watch->last_tenth),
                      .runs = runs,
                      .errors = counts->errors,
                      .injected = *errors,
                      .actors = actors,
                      .rows = figures->records,
                      .syncs = figures->batches + 2 * figures->checkpoints,
                      .memory_early = watch->memory_early,
                      .memory_late = watch->memory_late};
}

} // namespace chalk::cli::bench
