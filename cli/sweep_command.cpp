#include "cli/commands.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/sweep/control_socket.hpp"
#include "cli/sweep/execute_sweep.hpp"
#include "cli/sweep/results.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace chalk::cli {

namespace {

struct results_options {
    std::string folder;
    std::string other;
    std::string out;
    std::string format = "jsonl";
    bool as_json = false;
    bool all_attempts = false;
};

void add_status(CLI::App& sweep, exit_code& code) {
    auto* command = sweep.add_subcommand("status", "Say where a sweep stands, while it runs or after");
    const auto options = std::make_shared<results_options>();
    command->add_option("dir", options->folder, "the sweep's folder")->required()->type_name("DIR");
    command->add_flag("--json", options->as_json, "print one JSON object, with every cell");
    command->callback([options, &code] { code = show_status(options->folder, options->as_json); });
}

void add_export(CLI::App& sweep, exit_code& code) {
    auto* command = sweep.add_subcommand("export", "Write a sweep's results, a row a run");
    const auto options = std::make_shared<results_options>();
    command->add_option("dir", options->folder, "the sweep's folder")->required()->type_name("DIR");
    command->add_option("--format", options->format, "what the rows are")
        ->check(CLI::IsMember({"jsonl", "csv"}))
        ->capture_default_str();
    command->add_flag("--all-attempts", options->all_attempts, "a row an attempt; `counts` says which one does");
    command->add_option("--out", options->out, "a file instead of standard output")->type_name("FILE");
    command->callback([options, &code] {
        code = export_results(options->folder, options->format == "csv" ? export_format::csv : export_format::jsonl,
                              options->all_attempts, options->out);
    });
}

void add_diff(CLI::App& sweep, exit_code& code) {
    auto* command = sweep.add_subcommand("diff", "Compare two sweeps cell by cell");
    const auto options = std::make_shared<results_options>();
    command->add_option("a", options->folder, "a sweep's folder")->required()->type_name("A");
    command->add_option("b", options->other, "another one's")->required()->type_name("B");
    command->add_flag("--json", options->as_json, "print one JSON object");
    command->callback([options, &code] { code = diff_sweeps(options->folder, options->other, options->as_json); });
}

/// A requeue reads the whole journal.
constexpr std::chrono::seconds control_patience{75};

void add_ctl(CLI::App& sweep, exit_code& code) {
    auto* ctl = sweep.add_subcommand("ctl", "Steer a sweep that runs");
    const auto folder = std::make_shared<std::string>();
    ctl->add_option("DIR", *folder, "the sweep's folder")->required();
    ctl->require_subcommand(1);
    const auto ask = [folder, &code](const actors::sweep_control& what) {
        const auto said = ask_sweep(*folder, what, control_patience);
        if (said) {
            fmt::print("{}\n", *said);
        } else {
            fmt::print(stderr, "chalk sweep ctl: {}\n", said.error().message);
        }
        code = said ? exit_code::fine : exit_code::usage;
    };
    namespace control = actors::control;
    ctl->add_subcommand("pause", "start nothing more; what is under way goes on")->callback([ask] {
        ask(control::pause{});
    });
    ctl->add_subcommand("resume", "start runs again")->callback([ask] { ask(control::resume{}); });
    ctl->add_subcommand("cancel", "end what is under way, and the sweep; `chalk sweep resume` goes on later")
        ->callback([ask] { ask(control::cancel{"chalk sweep ctl cancel"}); });
    ctl->add_subcommand("status", "how it stands, as JSON")->callback([ask] { ask(control::look{}); });
    auto* concurrency = ctl->add_subcommand("concurrency", "how many runs at once, at most");
    const auto runs = std::make_shared<std::size_t>(0);
    concurrency->add_option("N", *runs, "0: as many as the machine has room for")
        ->required()
        ->check(CLI::Range(0, 1'000'000));
    concurrency->callback(
        [ask, runs] { ask(control::concurrency{*runs == 0 ? std::nullopt : std::optional<std::size_t>(*runs)}); });
    auto* requeue = ctl->add_subcommand("requeue", "run finished runs once more; their first outcome stays as history");
    const auto ids = std::make_shared<std::vector<std::string>>();
    requeue->add_option("RUN", *ids, "run ids")->required();
    requeue->callback([ask, ids] { ask(control::requeue{*ids}); });
    auto* drain = ctl->add_subcommand("drain", "start nothing more on a node");
    const auto node = std::make_shared<std::string>();
    drain->add_option("NODE", *node, "its name")->required();
    drain->callback([ask, node] { ask(control::drain{*node}); });
}

/// Flags of a sweep that runs.
void add_watching(CLI::App& command, sweep_options& o) {
    command.add_flag("--json", o.json, "print each run's end as JSON, one a line");
    command.add_flag("--dry-run", o.dry_run, "say what would run, and stop");
}

void add_resume(CLI::App& sweep, const own_keys& keys, exit_code& code) {
    auto* resume = sweep.add_subcommand("resume", "Go on with a sweep: what has no outcome is run");
    const auto options = std::make_shared<sweep_options>();
    resume->add_option("DIR", options->folder, "the sweep's folder")->required();
    add_cluster_flags(*resume, options->cluster);
    resume->add_option("--requeue", options->requeue, "run these finished runs once more")->type_name("RUN");
    add_watching(*resume, *options);
    resume->callback([options, &keys, &code] { code = resume_sweep(*options, keys); });
}

void add_sweep(CLI::App& sweep, const own_keys& keys, exit_code& code) {
    const auto options = std::make_shared<sweep_options>();
    auto* config = sweep.add_option("--config", options->config, "sweep file: JSON or TOML, or JSON itself")
                       ->type_name("FILE|JSON");
    sweep.add_option("--out", options->folder, "the sweep's folder, which must not hold one yet")->type_name("DIR");
    add_run_flags(sweep, options->how);
    add_cluster_flags(sweep, options->cluster);
    add_watching(sweep, *options);
    sweep.callback([&sweep, options, config, &keys, &code] {
        if (!sweep.get_subcommands().empty()) {
            return;
        }
        if (config->count() == 0) {
            throw CLI::RequiredError("--config");
        }
        if (options->folder.empty() && !options->dry_run) {
            throw CLI::RequiredError("--out");
        }
        code = execute_sweep(*options, keys);
    });
}

} // namespace

void add_sweep_command(CLI::App& app, const own_keys& keys, exit_code& code) {
    auto* command = app.add_subcommand("sweep", "Run a matrix of runs that survives anything, and look at its results");
    add_sweep(*command, keys, code);
    add_resume(*command, keys, code);
    add_ctl(*command, code);
    add_status(*command, code);
    add_export(*command, code);
    add_diff(*command, code);
}

} // namespace chalk::cli
