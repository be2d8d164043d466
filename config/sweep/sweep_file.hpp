/// The sweep file: what `chalk sweep --config` takes, JSON or TOML. Keys, types, ranges and defaults are in one table
/// (config/sweep/sweep_file_keys.cpp), from which the loader, `chalk config schema --sweep` and
/// docs/reference/sweep-file.md follow.
#pragma once

#include "config/run_config.hpp"
#include "config/sweep/config_change.hpp"
#include "config/sweep/sweep_matrix.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::config {

/// Which attempts are followed by another one of the same run, and when.
struct retry_rules {
    std::uint32_t max_attempts = 3; ///< of a run, the first one counted
    std::vector<error_class> on = {error_class::image, error_class::sandbox, error_class::harness, error_class::model,
                                   error_class::node_lost};
    milliseconds backoff{1'000};      ///< before the second attempt; doubles with each further one
    milliseconds max_backoff{60'000}; ///< at least `backoff`
};

/// Absent: the default of config/defaults.hpp, where there is one.
struct deadline_rules {
    std::optional<milliseconds> prepare;
    std::optional<milliseconds> setup;
    std::optional<milliseconds> agent;
    std::optional<milliseconds> score;
    std::optional<milliseconds> teardown;
    std::optional<milliseconds> run;   ///< of an attempt, from its admission on
    std::optional<milliseconds> sweep; ///< of the sweep, from its first start on
};

/// When the sweep, or a cell, is done before all its runs are.
struct stop_rules {
    std::optional<std::uint64_t> max_errors; ///< this many runs have ended as `error`: no other starts
    std::optional<double> max_error_rate;    ///< above 0, at most 1: share of `error` among the runs that ended
    std::uint64_t after_runs = 20;           ///< runs that must have ended before max_error_rate is looked at
    bool first_pass = false;                 ///< a cell is done with its first run that passes
};

enum class breaker_scope { cell, sweep };
inline constexpr std::array<std::string_view, 2> breaker_scope_names = {"cell", "sweep"};

/// Attempts that end as `error`, too many in too short a time: the cell, or the sweep, starts no more runs.
struct breaker_rules {
    std::optional<std::uint64_t> max_errors; ///< absent: no breaker
    milliseconds window{600'000};
    breaker_scope scope = breaker_scope::cell;
};

/// Of the whole sweep at any moment (tokens, usd: in all). Absent: what the machine has, or no limit.
struct sweep_budget {
    std::optional<std::uint64_t> max_concurrent; ///< runs at once
    std::optional<double> cpus;
    std::optional<bytes> memory;
    std::optional<bytes> disk;
    std::optional<std::uint64_t> processes;
    std::optional<std::uint64_t> open_files;
    std::optional<std::uint64_t> tokens; ///< input and output of all model calls of all attempts
    std::optional<double> usd;           ///< by --prices, of all attempts
};

struct sweep_file {
    std::string name; ///< first part of every run id; follows run_id's grammar
    std::uint64_t repeat = 1;
    std::uint64_t seed = 0; ///< the runs' seeds are derived from it (sweep_runs.hpp)
    retry_rules retry;
    deadline_rules deadlines;
    stop_rules stop;
    breaker_rules breaker;
    sweep_budget budget;
    std::optional<double> seal_at; ///< above 0, at most 1: at this share of ended runs the rest is cut off
};

/// A sweep file that has been read and checked: every axis value has been looked at, alone, over the base.
struct loaded_sweep_file {
    sweep_file sweep;
    std::string source;           ///< the file as the user wrote it, or "--config"
    std::filesystem::path folder; ///< absolute: what paths in axis values are relative to
    run_config base;              ///< without an environment where an axis gives each cell its own
    provenance base_sources;
    sweep_matrix matrix;
    std::vector<std::vector<axis_change>> changes; ///< by axis and value, as in the matrix: what a cell does to `base`
    json settings;                                 ///< what the file says besides base and axes
    /// "sha256:<hex>" over everything that decides what the runs do: base, scripts, axes, filters, repeat, seed. How
    /// fast and how often they are tried (retry, deadlines, stop, breaker, budget, seal_at) is left out. Contents of
    /// environments are not in it; the runs' provenance has their digests.
    std::string digest;
};

/// `source` is a path (TOML if it ends in .toml), or JSON text when its first non-blank character is `{`. `overrides`
/// are flags that set keys of the base; a key that an axis sets cannot be overridden. error_class::config: the message
/// has file, line (where there is one), JSON path, what was expected, and the nearest known key.
[[nodiscard]] result<loaded_sweep_file> load_sweep_file(const std::string& source,
                                                        const std::vector<override_value>& overrides = {});

struct config_source;
/// The same of a file that has been read (config/read_keys.hpp).
[[nodiscard]] result<loaded_sweep_file> load_sweep_file(const config_source& source,
                                                        const std::vector<override_value>& overrides);

/// What a sweep's folder keeps for `chalk sweep resume`: the file with its base, scripts and folder resolved, so that
/// neither the file nor the base has to stay where it was. JSON.
[[nodiscard]] std::string stored_sweep(const loaded_sweep_file& loaded);

/// Reads it back: same cell ids, same digest as long as no script that an axis names by path has changed, which is an
/// error. `name` is for messages.
[[nodiscard]] result<loaded_sweep_file> load_stored_sweep(std::string_view text, const std::string& name);

/// JSON Schema, draft 7.
[[nodiscard]] json sweep_file_schema();

/// The rows of docs/reference/sweep-file.md.
[[nodiscard]] std::string sweep_file_markdown();

} // namespace chalk::config
