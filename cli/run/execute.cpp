#include "cli/run/execute.hpp"

#include "cli/progress/console.hpp"
#include "cli/run/interrupts.hpp"
#include "cli/run/model_access.hpp"
#include "cli/run/tree_settings.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace chalk::cli {

namespace {

constexpr std::string_view chalk_run = "chalk run";

console_mode choose_mode(const run_options& options) {
    if (options.json) {
        return console_mode::json_lines;
    }
    if (options.no_ui) {
        return console_mode::run_output;
    }
    return ::isatty(STDERR_FILENO) != 0 ? console_mode::board : console_mode::run_ends;
}

exit_code code_of(const console::ending& how, bool interrupted, bool prepared) {
    if (how.trouble || how.counts.errors > 0) {
        return interrupted ? exit_code::interrupted : exit_code::run_error;
    }
    // Ctrl-C is how a prepared sandbox is meant to end.
    return interrupted && !prepared ? exit_code::interrupted : exit_code::fine;
}

} // namespace

exit_code execute_run(const run_options& options, const own_keys& keys) {
    ::signal(SIGPIPE, SIG_IGN);
    io_thread io;
    auto prepared = prepare_runs(io.context(), options);
    if (!prepared) {
        return refuse(chalk_run, prepared.error());
    }
    if (auto ready = prepare_backend(*prepared, keys); !ready) {
        return refuse(chalk_run, ready.error());
    }
    auto runs = config::split(prepared->base, options.runs);
    if (!runs) {
        return refuse(chalk_run, usage_refusal(runs.error()));
    }
    auto models = make_gateway_settings(options, prepared->base, gateway::read_provider_settings(keys));
    if (!models) {
        return refuse(chalk_run, models.error(), exit_code::machine_lacks);
    }
    if (options.dry_run) {
        fmt::print("{}", plan_text(*prepared, options, *runs));
        return exit_code::fine;
    }
    const auto watch = std::make_shared<console>(choose_mode(options), options.runs, prepared->least_level);
    auto settings = make_tree_settings(*prepared, options, *runs, watch);
    if (!settings) {
        return refuse(chalk_run, {exit_code::machine_lacks, settings.error().message});
    }
    settings->models = std::move(*models);
    for (const auto& note : prepared->notes) {
        watch->say(note);
    }
    auto finished = watch->finished();
    const auto tree = actors::run_tree::start(io.context(), std::move(*settings));
    const interrupts signals(
        io.context(),
        [&](const std::string& reason) {
            watch->say("chalk run: " + reason +
                       ": every run ends now; what they did so far is kept in their transcripts. "
                       "Again to kill them.");
            tree->cancel(reason);
        },
        [&](const std::string& reason) {
            watch->say("chalk run: killing every run");
            tree->kill(reason);
        });
    const console::ending how = finished.get();
    watch->print_summary(how);
    return code_of(how, signals.happened(), watch->was_prepared());
}

} // namespace chalk::cli
