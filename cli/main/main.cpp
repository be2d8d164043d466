#include "cli/commands.hpp"
#include "cli/main/roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace {

using chalk::cli::exit_code;

/// "did you mean" for what is typed first.
std::string hint(const CLI::App& app, const std::string& word) {
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    const auto close = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return !word.empty() && (name.starts_with(word.substr(0, 2)) || name.ends_with(word.substr(word.size() / 2)));
    });
    return close != names.end() ? fmt::format("did you mean chalk {}?", *close)
                                : fmt::format("commands are: {}", fmt::join(names, ", "));
}

int say_usage(const CLI::App& app, const CLI::ParseError& wrong, int argc, char** argv) {
    if (wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
        return app.exit(wrong); // --help
    }
    const bool unknown_command = argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty();
    if (unknown_command) {
        fmt::print(stderr, "chalk: there is no command {}; {}\n", argv[1], hint(app, argv[1]));
    } else {
        std::string chosen;
        for (auto at = app.get_subcommands(); !at.empty(); at = at.front()->get_subcommands()) {
            chosen += at.front()->get_name() + " ";
        }
        fmt::print(stderr, "chalk: {}\nchalk {}--help lists what it takes\n", wrong.what(), chosen);
    }
    return static_cast<int>(exit_code::usage);
}

} // namespace

int main(int argc, char** argv) {
    // Before anything is built: asked often, by scripts.
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("chalk " CHALK_VERSION);
        return 0;
    }
    // Before there are threads and children, whatever the command.
    const auto keys = chalk::own_keys::take();
    if (const auto code = chalk::cli::play_inner_role(argc, argv)) {
        return *code;
    }
    try {
        exit_code code = exit_code::fine;
        CLI::App app("chalk runs AI agents on tasks in sandboxes, scores them and records everything", "chalk");
        app.set_version_flag("--version", "chalk " CHALK_VERSION);
        app.require_subcommand(1);
        chalk::cli::add_run_command(app, keys, code);
        chalk::cli::add_sweep_command(app, keys, code);
        chalk::cli::add_show_command(app, code);
        chalk::cli::add_config_command(app, code);
        chalk::cli::add_gc_command(app, code);
        chalk::cli::add_agents_command(app, code);
        chalk::cli::add_backend_command(app, keys, code);
        chalk::cli::add_node_command(app, keys, code);
        chalk::cli::add_cluster_command(app, code);
        chalk::cli::add_check_command(app, code);
        chalk::cli::add_bench_command(app, keys, code);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& wrong) {
            return say_usage(app, wrong, argc, argv);
        }
        return static_cast<int>(code);
    } catch (const std::exception& e) {
        fmt::print(stderr, "chalk: {}\n", e.what());
        return static_cast<int>(exit_code::run_error);
    }
}
