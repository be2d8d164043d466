#include "cli/commands.hpp"
#include "cli/run/execute.hpp"
#include "cli/run/run_flags.hpp"

#include <memory>

namespace chalk::cli {

void add_run_command(CLI::App& app, const own_keys& keys, exit_code& code) {
    auto* run = app.add_subcommand("run", "Run a task, once or many times, each in a sandbox of its own");
    const auto options = std::make_shared<run_options>();
    auto& o = *options;
    auto* config =
        run->add_option("--config", o.config, "run config: a JSON file, or JSON itself")->type_name("FILE|JSON");
    run->add_option("-n", o.runs, "how many runs; they get numbered ids, files and ports")
        ->check(CLI::Range(1, 1'000'000));
    run->add_option("--task", o.task, "which task of the environment");
    run->add_option("--agent", o.agent, "who works on it");
    run->add_option("--model", o.model, "the agent's model");
    run->add_option("--out", o.out, "transcript file")->type_name("FILE");
    run->add_option("--websocket-port", o.websocket_port, "serve the first run's events here, the next one's a port on")
        ->check(CLI::Range(1, 65'535));
    add_run_flags(*run, o);
    run->add_flag("--no-ui", o.no_ui, "print what every run does, a line at a time");
    run->add_flag("--json", o.json, "print events as JSON, one a line");
    run->add_flag("--prepare-only", o.prepare_only, "set one sandbox up, up to the first step, and wait for Ctrl-C");
    run->add_flag("--dry-run", o.dry_run, "say what would run, and stop");
    run->callback([options, config, &keys, &code] {
        if (config->count() == 0) {
            throw CLI::RequiredError("--config");
        }
        code = execute_run(*options, keys);
    });
}

} // namespace chalk::cli
