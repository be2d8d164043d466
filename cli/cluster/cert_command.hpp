/// `chalk cluster cert`: the certificates by which the machines of a cluster know each other.
#pragma once

#include "cli/commands.hpp"

namespace chalk::cli {

void add_cert_command(CLI::App& parent, exit_code& code);

} // namespace chalk::cli
