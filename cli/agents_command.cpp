#include "cli/commands.hpp"
#include "config/cli_agent.hpp"
#include "config/external_agent.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/net/io_thread.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>

namespace chalk::cli {

namespace {

struct found_agent {
    std::string name;
    bool here = false;
    std::string version; ///< as the program says it
    std::string remedy;  ///< where it is missing
};

constexpr milliseconds version_deadline{20'000};

/// Asks each program for its version, all at once, on the PATH of whoever asks. In a sandbox it is the student's that
/// counts: there this command answers for the sandbox.
std::vector<found_agent> look_for_agents() {
    io_thread io;
    confinement::student_settings settings;
    const char* path = std::getenv("PATH");
    const char* home = std::getenv("HOME");
    settings.working_directory = "/";
    settings.environment = {fmt::format("PATH={}", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"),
                            fmt::format("HOME={}", home != nullptr ? home : "/"), "LANG=C.UTF-8"};
    const auto commands = confinement::student_commands::make(io.context(), settings);
    std::vector<std::future<result<confinement::command_result>>> answers;
    for (const auto& agent : config::cli_agents()) {
        confinement::student_command ask;
        ask.argv = {"/bin/sh", "-c", "exec \"$@\" 2>/dev/null", "sh", agent.program};
        ask.argv.insert(ask.argv.end(), agent.version_arguments.begin(), agent.version_arguments.end());
        ask.timeout = version_deadline;
        const auto answer = std::make_shared<std::promise<result<confinement::command_result>>>();
        answers.push_back(answer->get_future());
        commands->run(std::move(ask),
                      [answer](result<confinement::command_result> how) { answer->set_value(std::move(how)); });
    }
    std::vector<found_agent> all = {{"builtin", true, "chalk " CHALK_VERSION, {}},
                                    {std::string(config::oracle_agent), true, "chalk " CHALK_VERSION, {}},
                                    {std::string(config::external_agent), true, "chalk " CHALK_VERSION, {}}};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const auto& agent = config::cli_agents()[i];
        const auto how = answers[i].get();
        found_agent found{agent.name, how && how->status.success(), {}, {}};
        if (found.here) {
            found.version = how->output.substr(0, how->output.find('\n'));
        } else {
            found.remedy = fmt::format("no program {} on the PATH; to install it: {}", agent.program, agent.install);
        }
        all.push_back(std::move(found));
    }
    return all;
}

void list_agents(bool as_json) {
    const auto all = look_for_agents();
    json out = json::array();
    for (const auto& one : all) {
        if (as_json) {
            out.push_back(
                {{"name", one.name}, {"available", one.here}, {"version", one.version}, {"remedy", one.remedy}});
        } else {
            fmt::print("{:<12} {}\n", one.name, one.here ? one.version : "missing: " + one.remedy);
        }
    }
    if (as_json) {
        fmt::print("{}\n", out.dump(2));
    }
}

} // namespace

void add_agents_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("agents", "Who can work on a task");
    command->require_subcommand(1);
    auto* list = command->add_subcommand("list", "which agents are there, and what the others lack");
    const auto as_json = std::make_shared<bool>(false);
    list->add_flag("--json", *as_json, "as JSON");
    list->callback([as_json, &code] {
        list_agents(*as_json);
        code = exit_code::fine;
    });
}

} // namespace chalk::cli
