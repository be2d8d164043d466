#include "cli/commands.hpp"
#include "runtimes/confinement/check/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include <unistd.h>

namespace chalk::cli {

namespace {

namespace check = confinement::check;

struct check_options {
    bool as_json = false;
    std::string hardware = "default";
};

void print(const check::report& report) {
    for (const auto& one : report.probes) {
        fmt::print("{}  {}\n      expected: {}\n      seen: {}\n", check::to_string(one.how), one.name, one.expected,
                   one.seen);
    }
    for (const auto& one : report.left) {
        fmt::print("left behind: {}\n", one);
    }
    fmt::print("{}\n", report.good() ? "the student gets what it should" : "the student gets less than it should");
}

exit_code check_confinement(const check_options& options) {
    if (options.hardware != "default") {
        fmt::print(stderr, "chalk check confinement: --hardware {}: no such hardware; known: default\n",
                   options.hardware);
        return exit_code::usage;
    }
    if (::geteuid() != 0) {
        fmt::print(stderr, "chalk check confinement: run it as root inside the sandbox\n");
        return exit_code::machine_lacks;
    }
    const auto how = check::settings_from_environment();
    if (!how) {
        fmt::print(stderr, "chalk check confinement: {}\n", how.error().message);
        return exit_code::usage;
    }
    if (::access(how->home.c_str(), X_OK) != 0) {
        fmt::print(stderr,
                   "chalk check confinement: there is no {}, so this is no sandbox: what follows is what a "
                   "student would get on this machine\n",
                   how->home);
    }
    const auto report = check::run_probes(*how);
    if (options.as_json) {
        fmt::print("{}\n", check::to_json(report).dump());
    } else {
        print(report);
    }
    return report.good() ? exit_code::fine : exit_code::run_error;
}

} // namespace

void add_check_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("check", "Try whether things hold what they promise");
    command->require_subcommand(1);
    auto* confinement =
        command->add_subcommand("confinement", "As root inside a sandbox: what the student is really held to");
    const auto options = std::make_shared<check_options>();
    confinement->add_flag("--json", options->as_json, "Print one JSON object");
    confinement->add_option("--hardware", options->hardware, "Whose default memory limit to expect")
        ->capture_default_str();
    confinement->callback([options, &code] { code = check_confinement(*options); });
}

} // namespace chalk::cli
