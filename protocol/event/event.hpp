/// The one event stream of a run: what the harness reports, what every sink (transcript, terminal, websocket, backend)
/// reads. Sequence numbers start at 1 and have no gaps. Wire form: one JSON object a line,
/// `{"seq":1,"time":"2026-01-31T12:00:00.000Z","type":"TaskStartedEvent",...}`; the names are those that environment
/// authors see (docs/reference/transcript.md).
#pragma once

#include "protocol/core/outcome.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace chalk {

using json = nlohmann::json;

/// TaskStartedEvent: the tool server listens and the task's tools are registered.
struct task_started {
    std::string task;
    std::string agent;
    std::string model;
    std::vector<std::string> tools;
    std::size_t step_count = 0;
};

/// TaskPreHookCompletedEvent. `metadata` is whatever the task's pre_hook returned.
struct task_pre_hook_completed {
    json metadata;
};

/// StepStartedEvent. `index` counts from 0.
struct step_started {
    std::size_t index = 0;
    std::string name;
    std::string instructions;
};

/// A tool call as the model asked for it.
struct tool_call {
    std::string id;
    std::string name;
    json arguments = json::object();
};

struct token_usage {
    std::uint64_t input = 0;
    std::uint64_t cached = 0;
    std::uint64_t output = 0;
    std::uint64_t reasoning = 0;
};

enum class message_role { system, user, assistant };

/// MessageEvent: one message of the conversation. `reasoning`, `tool_calls`, `stop_reason` and `usage` only of the
/// assistant.
struct message_added {
    message_role role = message_role::user;
    std::string text;
    std::string reasoning;
    std::vector<tool_call> tool_calls;
    std::string stop_reason;
    std::optional<token_usage> usage;
    milliseconds duration{0};
    /// Of the assistant: what had come of a turn when its stream broke. It is no turn and no part of the conversation,
    /// and none of its tools was called; its tokens are spent.
    bool aborted = false;
};

/// ToolResultEvent: what became of one call. `truncated` says that output was cut (the text says so too).
struct tool_result {
    std::string call_id;
    std::string name;
    std::string text;
    bool is_error = false;
    bool truncated = false;
    milliseconds duration{0};
};

enum class limit_kind { turns, time, context_tokens, total_tokens, working_time, usd };

/// LimitReachedEvent: the step ends here and is judged as it stands. The message says whether the limit is the step's
/// or the run's.
struct limit_reached {
    limit_kind limit = limit_kind::turns;
    std::uint64_t value = 0; ///< turns, milliseconds, tokens or millionths of a US dollar, as `limit` says
    std::string message;
};

/// AgentCompletedEvent: the agent ended its work on the step, by itself or at a limit; what follows is scoring.
struct agent_completed {
    std::size_t step = 0;
    milliseconds duration{0}; ///< of its work
};

/// ArtifactSavedEvent. `path` is relative to the run's artifact folder.
struct artifact_saved {
    std::size_t step = 0;
    std::string path;
    std::uint64_t size = 0; ///< bytes
};

/// ScoringEvent: the judge's word on one step.
struct step_scored {
    std::size_t step = 0;
    double score = 0;
    bool continue_task = true;
    std::string explanation;
    json metadata;
    bool student_misbehaved = false; ///< the score is 0 because a hook or judge raised StudentMisbehaviorError
};

/// StepCompletedEvent.
struct step_completed {
    std::size_t index = 0;
    milliseconds duration{0};
};

/// TaskCompletedEvent: `status` is passed or failed. Last event of a run that ended without an error.
struct task_completed {
    outcome_status status = outcome_status::passed;
};

/// ErrorEvent: last event of a run that ended in an error, whoever found it.
struct run_failed {
    error_class kind = error_class::harness;
    std::string message;
    std::string details; ///< e.g. the environment's traceback
};

/// RunCancelledEvent: last event of a run that its owner stopped.
struct run_cancelled {
    std::string reason;
};

enum class log_level { debug, info, warning, error };

/// LogEvent: what chalk, the environment's code (its stdout and stderr) or a runtime has to say.
struct log_line {
    log_level level = log_level::info;
    std::string source; ///< "chalk", "environment", "runtime"
    std::string text;
};

using event_body = std::variant<task_started, task_pre_hook_completed, step_started, message_added, tool_result,
                                limit_reached, agent_completed, artifact_saved, step_scored, step_completed,
                                task_completed, run_failed, run_cancelled, log_line>;

struct event {
    std::uint64_t seq = 0;
    wall_time time;
    event_body body;
};

/// Events are built once and shared by all sinks.
using event_ptr = std::shared_ptr<const event>;

/// "TaskStartedEvent" and so on.
[[nodiscard]] std::string_view type_name(const event_body& body) noexcept;

/// True for task_completed, run_failed and run_cancelled: nothing follows.
[[nodiscard]] bool is_final(const event_body& body) noexcept;

/// The outcome that a final event stands for; nullopt for any other.
[[nodiscard]] std::optional<outcome> outcome_of(const event_body& body);

[[nodiscard]] json to_json(const event& e);

/// The wire form, without a line break. Invalid UTF-8 in text (a student can print anything) is replaced by U+FFFD.
[[nodiscard]] std::string to_line(const event& e);

/// Strict: unknown type, missing field or wrong type is error_class::harness, with the field named.
[[nodiscard]] result<event> parse_event(std::string_view line);

/// The same for a value that is parsed already, e.g. out of a transcript.
[[nodiscard]] result<event> event_from_json(json object);

/// RFC 3339 in UTC with milliseconds.
[[nodiscard]] std::string format_time(wall_time t);
[[nodiscard]] result<wall_time> parse_time(std::string_view text);

} // namespace chalk
