#include "cli/commands.hpp"
#include "cli/sweep/results.hpp"

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

} // namespace

void add_sweep_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("sweep", "Look at sweeps: their state, their results, their differences");
    command->require_subcommand(1);
    add_status(*command, code);
    add_export(*command, code);
    add_diff(*command, code);
}

} // namespace chalk::cli
