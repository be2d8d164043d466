#include "cli/commands.hpp"
#include "cli/show/terminal.hpp"
#include "config/run_config.hpp"
#include "config/run_config_keys.hpp"
#include "config/sweep/sweep_file.hpp"
#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace chalk::cli {

namespace {

struct config_options {
    std::string config;
    bool as_json = false;
    bool markdown = false;
    bool sweep = false;
    std::vector<config::override_value> overrides;
};

/// The value at a key's path of a config that has every key; null where there is none.
json value_at(const json& values, std::string_view path) {
    const auto dot = path.find('.');
    const auto found = values.find(path.substr(0, dot));
    if (found == values.end()) {
        return nullptr;
    }
    return dot == std::string_view::npos ? *found : value_at(*found, path.substr(dot + 1));
}

/// On one line of the table; --json has the whole value.
std::string short_text(const json& value) {
    constexpr std::size_t longest = 100;
    const auto lines = wrap(dump_json(value), longest);
    return lines.empty() ? std::string{} : lines.front() + (lines.size() > 1 ? " ..." : "");
}

std::string resolved_table(const config::loaded_run_config& loaded) {
    const auto values = config::to_json(loaded.config);
    std::size_t key_width = 0;
    std::size_t source_width = 0;
    for (const auto& spec : config::run_config_keys()) {
        key_width = std::max(key_width, spec.path.size());
        source_width = std::max(source_width, columns(loaded.sources.at(std::string(spec.path))));
    }
    std::string out;
    for (const auto& spec : config::run_config_keys()) {
        const auto& source = loaded.sources.at(std::string(spec.path));
        out += fmt::format("{:<{}}  {}{}  {}\n", spec.path, key_width, source,
                           std::string(source_width - columns(source), ' '), short_text(value_at(values, spec.path)));
    }
    return out;
}

exit_code show_config(const config_options& options) {
    const auto loaded = config::load_run_config(options.config, options.overrides);
    if (!loaded) {
        fmt::print(stderr, "chalk: {}\n", loaded.error().message);
        return exit_code::usage;
    }
    if (!options.as_json) {
        return put(resolved_table(*loaded));
    }
    return put(dump_json({{"config", config::to_json(loaded->config)}, {"sources", loaded->sources}}, 2) + "\n");
}

exit_code show_schema(const config_options& options) {
    if (options.markdown) {
        return put(options.sweep ? config::sweep_file_markdown() : config::run_config_markdown());
    }
    return put(dump_json(options.sweep ? config::sweep_file_schema() : config::run_config_schema(), 2) + "\n");
}

} // namespace

void add_config_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("config", "Explain run configs and sweep files");
    command->require_subcommand(1);
    const auto options = std::make_shared<config_options>();

    auto* schema = command->add_subcommand("schema", "Print the run config's JSON Schema (draft 7)");
    schema->add_flag("--sweep", options->sweep, "that of the sweep file");
    schema->add_flag("--markdown", options->markdown, "print the table of the page in docs/reference instead");
    schema->callback([options, &code] { code = show_schema(*options); });

    auto* show = command->add_subcommand("show", "Print every value of a run config and where it comes from");
    show->add_option("--config", options->config, "run config: a JSON file, or JSON itself")
        ->required()
        ->type_name("FILE|JSON");
    const auto text_flag = [&](const std::string& flag, const std::string& key, const std::string& help) {
        show->add_option_function<std::string>(
            flag,
            [options, flag, key](const std::string& text) {
                options->overrides.push_back({key, flag, text});
            },
            help);
    };
    text_flag("--task", "task", "which task of the environment");
    text_flag("--agent", "agent", "who works on it");
    text_flag("--model", "model", "the agent's model");
    text_flag("--out", "transcript_file", "transcript file");
    show->add_option_function<std::uint64_t>(
        "--websocket-port",
        [options](const std::uint64_t& port) {
            options->overrides.push_back({"websocket_port", "--websocket-port", port});
        },
        "port on which the run's events are served");
    show->add_flag("--json", options->as_json, "print values and sources as JSON");
    show->callback([options, &code] { code = show_config(*options); });
}

} // namespace chalk::cli
