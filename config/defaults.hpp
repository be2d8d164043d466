/// Every wait of the harness by name. All are upper bounds that a healthy run never meets; what a user may set is in
/// the run config (run_config.hpp).
#pragma once

#include "protocol/core/units.hpp"

namespace chalk::config::defaults {

// The environment host's calls (docs/protocols/environment.md). Past one of them the run ends with
// error_class::timeout, except a tool's: then the tool's result is an error and the run goes on.
inline constexpr milliseconds environment_start{60'000}; ///< initialize: interpreter, imports of the environment
inline constexpr milliseconds environment_query{60'000}; ///< list_tasks, configure_tools, system_prompt
inline constexpr milliseconds environment_load{120'000}; ///< load_task, start_step
inline constexpr milliseconds environment_hook{600'000}; ///< pre_hook, pre_scoring_hook, post_hook
inline constexpr milliseconds environment_judge{1'800'000};
inline constexpr milliseconds environment_tool{600'000};   ///< call_tool of a tool that sets no timeout of its own
inline constexpr milliseconds environment_shutdown{2'000}; ///< from `shutdown` to the host's end; then it is killed
inline constexpr milliseconds environment_drain{200};      ///< its last output, once it has ended
inline constexpr milliseconds environment_reap{5'000};     ///< from SIGKILL to the end of waiting for it

/// One turn of a model, the gateway's retries included. A limit on the step's time makes it shorter.
inline constexpr milliseconds model_turn{1'800'000};

/// One message of an external agent: a person may be behind it. A limit on the step's time makes it shorter.
inline constexpr milliseconds external_message{2 * 3'600'000};

/// One step of a CLI agent's program where the config sets no limit on time, and one line of what it prints.
inline constexpr milliseconds agent_program{6 * 3'600'000};
inline constexpr bytes agent_line = 16_MiB;

/// Empty turns in a row that are answered by asking to go on; one more is an error.
inline constexpr unsigned empty_turns = 3;

/// Turns in a row whose streams broke that are asked for again as a whole; one more is an error.
inline constexpr unsigned aborted_turns = 3;

/// Turns in a row that a provider may pause.
inline constexpr unsigned paused_turns = 20;

/// Of one artifact, and how many a step may save.
inline constexpr bytes artifact_size = 64_MiB;
inline constexpr std::size_t artifacts_per_step = 1'000;

} // namespace chalk::config::defaults
