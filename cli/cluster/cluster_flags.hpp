/// The flags by which a sweep is carried out by nodes, and what they come to: a cluster file, or the same said by
/// flags.
#pragma once

#include "config/cluster_file.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chalk::cli {

/// What the user typed.
struct cluster_flags {
    std::string file; ///< --cluster
    config::cluster_file typed;
    double lease_s = 0; ///< --lease; 0: not typed
};

/// `flags` outlives the parse.
void add_cluster_flags(CLI::App& command, cluster_flags& flags);

/// nullopt: no cluster, this machine runs everything. What was typed goes before what the file says.
/// error_class::config names what is missing or wrong.
[[nodiscard]] result<std::optional<config::cluster_file>> read_cluster_flags(const cluster_flags& flags);

// A sweep's folder keeps the cluster that it was begun with, so that a resume needs no flags.

/// DIR/cluster.json, written whole or not at all. error_class::harness.
[[nodiscard]] result<void> store_cluster(const std::filesystem::path& folder, const config::cluster_file& cluster);
/// nullopt: it was begun without one.
[[nodiscard]] result<std::optional<config::cluster_file>> stored_cluster(const std::filesystem::path& folder);

} // namespace chalk::cli
