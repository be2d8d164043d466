#include "actors/tree.hpp"
#include "cli/commands.hpp"
#include "cli/run/execute.hpp"
#include "cli/run/sizes.hpp"

#include <fmt/format.h>

#include <memory>

namespace chalk::cli {

namespace {

/// A flag that takes a size.
void add_size(CLI::App& app, const std::string& name, std::optional<bytes>& value, const std::string& help) {
    app.add_option_function<std::string>(
           name,
           [name, &value](const std::string& text) {
               auto size = parse_size(text);
               if (!size) {
                   throw CLI::ValidationError(name, size.error().message);
               }
               value = *size;
           },
           help)
        ->type_name("SIZE");
}

} // namespace

void add_run_command(CLI::App& app, const own_keys& keys, exit_code& code) {
    auto* run = app.add_subcommand("run", "Run a task, once or many times, each in a sandbox of its own");
    const auto options = std::make_shared<run_options>();
    auto& o = *options;
    auto* config =
        run->add_option("--config", o.config, "run config: a JSON file, or JSON itself")->type_name("FILE|JSON");
    run->add_option("--runtime", o.runtime, "what makes the sandboxes (default: namespaces)");
    run->add_option("-n", o.runs, "how many runs; they get numbered ids, files and ports")
        ->check(CLI::Range(1, 1'000'000));
    run->add_option("--task", o.task, "which task of the environment");
    run->add_option("--agent", o.agent, "who works on it");
    run->add_option("--model", o.model, "the agent's model");
    run->add_option("--out", o.out, "transcript file")->type_name("FILE");
    run->add_option("--websocket-port", o.websocket_port, "serve the first run's events here, the next one's a port on")
        ->check(CLI::Range(1, 65'535));
    add_size(*run, "--memory", o.memory, "memory of each sandbox, e.g. 2GiB");
    add_size(*run, "--disk", o.disk, "what may be written in each sandbox, e.g. 512MiB");
    run->add_option("--max-concurrent", o.max_concurrent, "runs at once, at most")->check(CLI::Range(1, 1'000'000));
    run->add_option("--overcommit", o.overcommit, "promise memory and cpus this many times over")
        ->check(CLI::Range(1.0, 100.0));
    run->add_option("--rootfs", o.rootfs, "root file system of the sandboxes: a folder or a tar")->type_name("PATH");
    run->add_option("--mount", o.mounts, "show a folder inside the sandboxes, read-only; may be given several times")
        ->type_name("SOURCE:TARGET:ro");
    auto* proxy = run->add_option("--proxy", o.proxy, "send all model calls to this server")->type_name("URL");
    run->add_flag("--no-proxy", o.no_proxy, "send model calls straight to their providers")->excludes(proxy);
    run->add_option("--prices", o.prices, "what models cost: a JSON or TOML file")->type_name("FILE");
    auto* record = run->add_option("--record", o.record, "keep what models answer here")->type_name("DIR");
    run->add_option("--replay", o.replay, "answer model calls from here, without a model")
        ->type_name("DIR")
        ->excludes(record);
    run->add_flag("--no-ui", o.no_ui, "print what every run does, a line at a time");
    run->add_flag("--json", o.json, "print events as JSON, one a line");
    run->add_flag("--keep", o.keep, "leave the sandboxes' files behind and say where");
    run->add_flag("--no-containerized", o.no_containerized, "run here, without sandboxes: no isolation");
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
