#include "cli/run/run_flags.hpp"

#include "cli/run/sizes.hpp"

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

void add_run_flags(CLI::App& command, run_options& o) {
    command.add_option("--runtime", o.runtime, "what makes the sandboxes (default: namespaces)");
    add_size(command, "--memory", o.memory, "memory of each sandbox, e.g. 2GiB");
    add_size(command, "--disk", o.disk, "what may be written in each sandbox, e.g. 512MiB");
    command.add_option("--max-concurrent", o.max_concurrent, "runs at once, at most")->check(CLI::Range(1, 1'000'000));
    command.add_option("--overcommit", o.overcommit, "promise memory and cpus this many times over")
        ->check(CLI::Range(1.0, 100.0));
    command.add_option("--rootfs", o.rootfs, "root file system of the sandboxes: a folder or a tar")->type_name("PATH");
    command
        .add_option("--mount", o.mounts, "show a folder inside the sandboxes, read-only; may be given several times")
        ->type_name("SOURCE:TARGET:ro");
    auto* proxy = command.add_option("--proxy", o.proxy, "send all model calls to this server")->type_name("URL");
    command.add_flag("--no-proxy", o.no_proxy, "send model calls straight to their providers, past http_proxy too")
        ->excludes(proxy);
    command.add_option("--prices", o.prices, "what models cost: a JSON or TOML file")->type_name("FILE");
    auto* record = command.add_option("--record", o.record, "keep what models answer here")->type_name("DIR");
    command.add_option("--replay", o.replay, "answer model calls from here, without a model")
        ->type_name("DIR")
        ->excludes(record);
    command.add_flag("--keep", o.keep, "leave the sandboxes' files behind and say where");
    command.add_flag("--no-containerized", o.no_containerized, "run here, without sandboxes: no isolation");
}

} // namespace chalk::cli
