/// What each event looks like on the wire, once: the writers and the parser of event.hpp walk over these. `f(name,
/// member)` is a field that is always there; `f.optional(name, member)` is left out where it equals its default.
#pragma once

#include "protocol/event/event.hpp"

#include <array>

namespace chalk::event_wire {

template<class Body>
struct shape;

template<>
struct shape<task_started> {
    static constexpr std::string_view name = "TaskStartedEvent";
    static void fields(auto& f, auto& b) {
        f("task", b.task);
        f("agent", b.agent);
        f("model", b.model);
        f("tools", b.tools);
        f("step_count", b.step_count);
    }
};

template<>
struct shape<task_pre_hook_completed> {
    static constexpr std::string_view name = "TaskPreHookCompletedEvent";
    static void fields(auto& f, auto& b) { f("metadata", b.metadata); }
};

template<>
struct shape<step_started> {
    static constexpr std::string_view name = "StepStartedEvent";
    static void fields(auto& f, auto& b) {
        f("index", b.index);
        f("name", b.name);
        f("instructions", b.instructions);
    }
};

template<>
struct shape<tool_call> { // not an event: a part of MessageEvent
    static void fields(auto& f, auto& b) {
        f("id", b.id);
        f("name", b.name);
        f("arguments", b.arguments);
    }
};

template<>
struct shape<token_usage> { // not an event: a part of MessageEvent
    static void fields(auto& f, auto& b) {
        f("input", b.input);
        f("cached", b.cached);
        f("output", b.output);
        f("reasoning", b.reasoning);
    }
};

template<>
struct shape<message_added> {
    static constexpr std::string_view name = "MessageEvent";
    static void fields(auto& f, auto& b) {
        f("role", b.role);
        f("text", b.text);
        f.optional("reasoning", b.reasoning);
        f.optional("tool_calls", b.tool_calls);
        f.optional("stop_reason", b.stop_reason);
        f.optional("usage", b.usage);
        f.optional("duration_ms", b.duration);
        f.optional("aborted", b.aborted);
    }
};

template<>
struct shape<tool_result> {
    static constexpr std::string_view name = "ToolResultEvent";
    static void fields(auto& f, auto& b) {
        f("call_id", b.call_id);
        f("name", b.name);
        f("text", b.text);
        f("is_error", b.is_error);
        f("truncated", b.truncated);
        f("duration_ms", b.duration);
    }
};

template<>
struct shape<limit_reached> {
    static constexpr std::string_view name = "LimitReachedEvent";
    static void fields(auto& f, auto& b) {
        f("limit", b.limit);
        f("value", b.value);
        f("message", b.message);
    }
};

template<>
struct shape<agent_completed> {
    static constexpr std::string_view name = "AgentCompletedEvent";
    static void fields(auto& f, auto& b) {
        f("step", b.step);
        f("duration_ms", b.duration);
    }
};

template<>
struct shape<artifact_saved> {
    static constexpr std::string_view name = "ArtifactSavedEvent";
    static void fields(auto& f, auto& b) {
        f("step", b.step);
        f("path", b.path);
        f("size", b.size);
    }
};

template<>
struct shape<step_scored> {
    static constexpr std::string_view name = "ScoringEvent";
    static void fields(auto& f, auto& b) {
        f("step", b.step);
        f("score", b.score);
        f("continue_task", b.continue_task);
        f("explanation", b.explanation);
        f("metadata", b.metadata);
        f("student_misbehaved", b.student_misbehaved);
    }
};

template<>
struct shape<step_completed> {
    static constexpr std::string_view name = "StepCompletedEvent";
    static void fields(auto& f, auto& b) {
        f("index", b.index);
        f("duration_ms", b.duration);
    }
};

template<>
struct shape<task_completed> {
    static constexpr std::string_view name = "TaskCompletedEvent";
    static void fields(auto& f, auto& b) { f("status", b.status); }
};

template<>
struct shape<run_failed> {
    static constexpr std::string_view name = "ErrorEvent";
    static void fields(auto& f, auto& b) {
        f("class", b.kind);
        f("message", b.message);
        f.optional("details", b.details);
    }
};

template<>
struct shape<run_cancelled> {
    static constexpr std::string_view name = "RunCancelledEvent";
    static void fields(auto& f, auto& b) { f("reason", b.reason); }
};

template<>
struct shape<log_line> {
    static constexpr std::string_view name = "LogEvent";
    static void fields(auto& f, auto& b) {
        f("level", b.level);
        f("source", b.source);
        f("text", b.text);
    }
};

/// The names of an enumeration's values, in their order.
template<class Enum>
struct names;

template<>
struct names<message_role> {
    static constexpr std::array<std::string_view, 3> list = {"system", "user", "assistant"};
};
template<>
struct names<limit_kind> {
    static constexpr std::array<std::string_view, 6> list = {"turns",        "time",         "context_tokens",
                                                             "total_tokens", "working_time", "usd"};
};
template<>
struct names<log_level> {
    static constexpr std::array<std::string_view, 4> list = {"debug", "info", "warning", "error"};
};
template<>
struct names<outcome_status> { // of TaskCompletedEvent: the other two have events of their own
    static constexpr std::array<std::string_view, 2> list = {"passed", "failed"};
};
template<>
struct names<error_class> {
    static constexpr auto list = error_class_names;
};

template<class Enum>
[[nodiscard]] std::string_view name_of(Enum value) noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < names<Enum>::list.size() ? names<Enum>::list[index] : std::string_view{};
}

} // namespace chalk::event_wire
