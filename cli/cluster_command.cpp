#include "cli/cluster/cert_command.hpp"
#include "cli/commands.hpp"

namespace chalk::cli {

void add_cluster_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("cluster", "What the machines of a cluster need");
    command->require_subcommand(1);
    add_cert_command(*command, code);
}

} // namespace chalk::cli
