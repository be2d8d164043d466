/// The run config: what `chalk run --config` takes. Keys, types, ranges and defaults are in one table
/// (config/run_config_keys.cpp), from which the parser, `chalk config schema` and docs/reference/run-config.md follow.
#pragma once

#include "protocol/core/ids.hpp"
#include "protocol/core/units.hpp"
#include "protocol/event/event.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace chalk::config {

/// Of a step or of all steps of a run. Whichever is reached, the step that runs ends and is judged as it stands.
struct work_limits {
    std::optional<std::uint32_t> max_turns;
    std::optional<seconds> max_time;               ///< wall time ("max_time_s")
    std::optional<seconds> max_working_time;       ///< wall time less that spent waiting for the model
    std::optional<std::uint64_t> max_total_tokens; ///< input and output of all model calls, aborted ones too
    std::optional<double> max_usd;                 ///< US dollars of all model calls, by --prices
};

struct limits : work_limits {                        // the step's
    std::optional<std::uint64_t> max_context_tokens; ///< of one model call
    work_limits run;                                 ///< "max_run_turns" and so on
};

struct mcp_server {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any free one
};

/// A scripted model: turns per step, in order. See docs/howto/fake-model.md.
struct fake_model {
    /// One entry a step; each entry is a list of assistant turns
    /// ({"text": ..., "reasoning": ..., "tool_calls": [{"name": ..., "arguments": {...}}]}). A path in the config is
    /// read when the config is loaded, relative to the config file.
    json script = json::array();
    milliseconds latency{0}; ///< before each turn ("latency_ms")
};

struct run_config {
    std::filesystem::path environment; ///< absolute after loading; "builtin:noop" for the no-op environment
    std::string task;                  ///< empty: the environment's only task
    json task_args = json::object();
    run_id id;                         ///< made up from environment and time where absent
    std::optional<std::uint64_t> seed; ///< below 2^53; for the environment, and to tell repeats apart when recording
    std::filesystem::path transcript_file = "out/transcript.json"; ///< relative to the working directory
    std::string agent = "builtin";
    std::string agent_program; ///< "agent_args.program"; empty: as the agent's description says
    std::string model;
    json model_args = json::object();
    bool use_fake_model = false;
    fake_model fake;
    std::string backend_uri;
    std::optional<std::uint16_t> websocket_port; ///< absent: no listener
    mcp_server mcp;
    bool save_artifacts = true;
    limits limit;
    json extra_config = json::object();
};

/// Where a value came from: "default", a file ("run_config.json:7"), or a flag ("--model").
using provenance = std::map<std::string, std::string>;

struct loaded_run_config {
    run_config config;
    provenance sources; ///< by JSON path, e.g. "limits.max_turns"
};

/// One `--flag value` that overrides a key.
struct override_value {
    std::string key;  ///< JSON path, e.g. "transcript_file"
    std::string flag; ///< as the user wrote it, for messages
    json value;
};

/// `source` is a path, or JSON text when its first non-blank character is `{`. The failure's message has file, line
/// (where there is one), JSON path, what was expected, and the nearest known key. Relative paths of the file are
/// resolved against its folder, except transcript_file, which the user's working directory resolves.
[[nodiscard]] result<loaded_run_config> load_run_config(const std::string& source,
                                                        const std::vector<override_value>& overrides);

/// A config that another chalk resolved and sent with to_json: the same strict look at keys and values, but no file is
/// read or looked for, because the sender's paths mean nothing here.
[[nodiscard]] result<run_config> parse_resolved_config(const json& value);

/// The config as JSON with every key; parses back to the same config. Holds no secrets.
[[nodiscard]] json to_json(const run_config& config);

/// Of a value of to_json: the keys that are not at their defaults, and those that have none. parse_resolved_config
/// fills the others in again.
[[nodiscard]] json without_defaults(const json& config);

/// JSON Schema, draft 7.
[[nodiscard]] json run_config_schema();

/// The environment that has no files: one step, no tools, a judge that is always content.
inline constexpr std::string_view noop_environment = "builtin:noop";

/// "<name of the environment's folder>-<UTC time to the millisecond>".
[[nodiscard]] run_id make_run_id(const std::filesystem::path& environment, wall_time now);

/// The configs of `-n N`: ids `<id>-<i>`, seeds derived from the config's (seed_of), files `<name>_<i>.json`, websocket
/// port plus i. For n == 1 the config itself.
[[nodiscard]] result<std::vector<run_config>> split(const run_config& config, std::size_t n);

} // namespace chalk::config
