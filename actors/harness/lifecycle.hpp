/// The order of a run inside its sandbox, as a pure state machine: facts in, commands out, no actors, no IO, no clock.
/// docs/reference/lifecycle.md tells the same story for people.
///
/// Owner: the harness actor, which carries out the commands and reports what came of them. Nothing of it survives the
/// run: what was recorded is in the events.
#pragma once

#include "protocol/event/event.hpp"

#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace chalk::actors::lifecycle {

// Facts: what happened.

struct task_loaded {
    std::string name;
    std::vector<std::string> steps; ///< their names
};
struct tools_listening {
    std::string firewall; ///< what was found when the student's way out was tried; empty: nothing to try
};
/// `tools` and `builtin` as the environment gave them; the lifecycle only passes them on.
struct tools_configured {
    json tools = json::array();
    std::vector<std::string> builtin;
};
struct tools_registered {
    std::vector<std::string> names;
};
struct pre_hook_returned {
    json metadata;
};
struct system_prompt_given {
    std::optional<std::string> text;
};
/// The environment is ready for the step: its instructions and its changes to extra_config (a JSON merge patch).
struct step_begun {
    std::string instructions;
    json extra_config = json::object();
};
/// The agent ended its work on the step, by itself or at a limit.
struct agent_finished {};
/// What it left running is gone.
struct student_stopped {};
struct artifacts_saved {};
struct pre_scoring_returned {};
struct judged {
    double score = 0;
    bool continue_task = true;
    std::string explanation;
    json metadata;
};
struct post_hook_returned {};
/// Whatever was asked for last, or any part of the run, failed.
struct trouble {
    failure why;
    std::string details;
    bool student_misbehaved = false; ///< StudentMisbehaviorError
};
struct cancel_requested {
    std::string reason;
};

using fact = std::variant<task_loaded, tools_listening, tools_configured, tools_registered, pre_hook_returned,
                          system_prompt_given, step_begun, agent_finished, student_stopped, artifacts_saved,
                          pre_scoring_returned, judged, post_hook_returned, trouble, cancel_requested>;

// Commands: what to do next. Of a list, each is carried out before the next one is.

struct load_task {};
struct listen_for_tools {};
struct configure_tools {};
struct register_tools {
    json tools;
    std::vector<std::string> builtin;
};
struct record {
    event_body body;
};
struct call_pre_hook {};
struct ask_system_prompt {};
/// Record a message and give it to the agent's conversation.
struct add_message {
    message_role role = message_role::user;
    std::string text;
};
/// --prepare-only: say so, and wait to be cancelled.
struct announce_prepared {};
struct begin_step {
    std::size_t index = 0;
};
struct let_agent_work {
    std::size_t index = 0;
};
/// The step's work is over: nothing of the student's may run while it is judged, and no tool may be called.
struct stop_student {};
struct save_artifacts {
    std::size_t index = 0;
    std::vector<std::string> patterns; ///< relative to the workdir
};
struct call_pre_scoring_hook {
    std::size_t index = 0;
};
struct call_judge {
    std::size_t index = 0;
};
struct call_post_hook {
    std::size_t index = 0;
};
/// The last command: the final event was recorded. `orderly`: the environment may end by itself; otherwise all is
/// killed.
struct finish {
    bool orderly = true;
};

using command = std::variant<load_task, listen_for_tools, configure_tools, register_tools, record, call_pre_hook,
                             ask_system_prompt, add_message, announce_prepared, begin_step, let_agent_work,
                             stop_student, save_artifacts, call_pre_scoring_hook, call_judge, call_post_hook, finish>;
using commands = std::vector<command>;

struct settings {
    std::string agent;
    std::string model;
    bool agent_sends_own_system_message = false; ///< CLI agents
    bool prepare_only = false;
    bool save_artifacts = true;
    json extra_config = json::object();
    std::string confinement_note;
};

using time_point = std::chrono::steady_clock::time_point;

class machine {
  public:
    explicit machine(settings with);

    /// Once, first.
    [[nodiscard]] commands start();
    /// After the end every fact is ignored: it came late. A fact that nothing asked for is an error of class harness.
    [[nodiscard]] commands handle(fact what, time_point now);
    [[nodiscard]] bool ended() const noexcept { return stage_ == stage::ended; }
    /// The config's extra_config with the changes of all steps so far.
    [[nodiscard]] const json& extra_config() const noexcept { return settings_.extra_config; }

  private:
    enum class stage {
        not_started,
        loading_task,
        starting_tools,
        configuring_tools,
        registering_tools,
        in_pre_hook,
        asking_system_prompt,
        prepared,
        beginning_step,
        working,
        stopping_student,
        saving_artifacts,
        in_pre_scoring_hook,
        judging,
        in_post_hook,
        ended,
    };

    commands on(task_loaded& what, time_point now);
    commands on(tools_listening& what, time_point now);
    commands on(tools_configured& what, time_point now);
    commands on(tools_registered& what, time_point now);
    commands on(pre_hook_returned& what, time_point now);
    commands on(system_prompt_given& what, time_point now);
    commands on(step_begun& what, time_point now);
    commands on(agent_finished& what, time_point now);
    commands on(student_stopped& what, time_point now);
    commands on(artifacts_saved& what, time_point now);
    commands on(pre_scoring_returned& what, time_point now);
    commands on(judged& what, time_point now);
    commands on(post_hook_returned& what, time_point now);
    commands on(trouble& what, time_point now);
    commands on(cancel_requested& what, time_point now);

    [[nodiscard]] bool leave(stage expected, stage next) noexcept;
    commands unexpected(const char* what);
    commands end(event_body last, bool orderly);
    commands ready_for_steps();
    commands next_step();
    commands fail(failure why, std::string details = {});

    settings settings_;
    stage stage_ = stage::not_started;
    std::string task_;
    std::vector<std::string> steps_;
    std::size_t step_ = 0;
    time_point step_started_;
    bool goes_on_ = true;
};

/// The strings of extra_config["extra_artifact_paths"]. error_class::task when it is anything but a list of strings.
[[nodiscard]] result<std::vector<std::string>> artifact_patterns(const json& extra_config);

} // namespace chalk::actors::lifecycle
