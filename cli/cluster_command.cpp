#include "cli/cluster/cert_command.hpp"
#include "cli/cluster/status_command.hpp"
#include "cli/commands.hpp"

namespace chalk::cli {

void add_cluster_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("cluster", "The machines of a cluster: their certificates, and how they stand");
    command->require_subcommand(1);
    add_cert_command(*command, code);
    add_cluster_status_command(*command, code);
}

} // namespace chalk::cli
