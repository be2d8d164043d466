/// What the user typed after `chalk sweep` and `chalk sweep resume`.
#pragma once

#include "cli/cluster/cluster_flags.hpp"
#include "cli/run/options.hpp"
#include "protocol/core/result.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace chalk::cli {

struct sweep_options {
    std::string config;               ///< a sweep file; not of a resume
    std::filesystem::path folder;     ///< DIR
    run_options how;                  ///< what each run is started with
    std::vector<std::string> requeue; ///< of a resume: runs that are run once more
    cluster_flags cluster;            ///< who carries the runs out; empty: this machine, or as the sweep was begun
    bool dry_run = false;
    bool json = false;
};

/// What a resume starts its runs with: DIR/options.json, written before the first run. Keys stay in the environment.
[[nodiscard]] nlohmann::json to_json(const run_options& how);
/// error_class::config names the key that makes no sense.
[[nodiscard]] result<run_options> run_options_from_json(const nlohmann::json& stored);

} // namespace chalk::cli
