/// One file a command. Each function adds its subcommand to `app`; when the user chose it, its callback stores the
/// process's exit code (0 fine, 1 a run ended in error, 2 usage or configuration, 3 the machine lacks something,
/// 130 interrupted).
#pragma once

#include "protocol/core/own_keys.hpp"

#include <CLI/CLI.hpp>

namespace chalk::cli {

enum class exit_code : int { fine = 0, run_error = 1, usage = 2, machine_lacks = 3, interrupted = 130 };

/// `keys` outlives the app.
void add_run_command(CLI::App& app, const own_keys& keys, exit_code& code);
void add_sweep_command(CLI::App& app, const own_keys& keys, exit_code& code);
void add_show_command(CLI::App& app, exit_code& code);
void add_config_command(CLI::App& app, exit_code& code);
void add_gc_command(CLI::App& app, exit_code& code);
void add_agents_command(CLI::App& app, exit_code& code);
void add_backend_command(CLI::App& app, const own_keys& keys, exit_code& code);
void add_cluster_command(CLI::App& app, exit_code& code);
void add_node_command(CLI::App& app, const own_keys& keys, exit_code& code);
void add_check_command(CLI::App& app, exit_code& code);
void add_bench_command(CLI::App& app, const own_keys& keys, exit_code& code);

} // namespace chalk::cli
