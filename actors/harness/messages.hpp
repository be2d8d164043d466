/// What the actors of one harness say to each other. None of it leaves the process, so none has an inspect().
#pragma once

#include "actors/harness/interfaces.hpp"
#include "actors/harness/solution_command.hpp"
#include "protocol/environment/client.hpp"
#include "protocol/gateway/account.hpp"
#include "protocol/mcp/server.hpp"
#include "protocol/model/model.hpp"

namespace chalk::actors {

using tool_list = std::shared_ptr<const std::vector<mcp::tool_spec>>;

// Environment.

/// The answer to `call_environment`, of the same number.
struct environment_answered {
    std::uint64_t number = 0;
    environment::call_result answer{boost::system::in_place_value, nullptr};
};

using environment_user = caf::typed_actor<
    /// A call came to its end.
    caf::reacts_to<environment_answered>>;

struct call_environment {
    std::uint64_t number = 0;
    std::string method;
    json params;
    milliseconds deadline{0};
    environment_user reply_to;
    environment::report_handler report = nullptr; ///< on the io thread; empty: nobody listens
    /// The judge's `transcript`, made for an environment that is a process: others do not read it. Empty: none.
    std::function<json()> transcript = nullptr;
};

struct stop_environment {
    bool orderly = true;
};

/// The environment host is gone, and what it had to do with it. Not sent once a stop was asked for.
struct environment_ended {
    failure why;
};

struct environment_logged {
    log_line line;
};

using environment_owner = caf::typed_actor<
    /// The environment is gone.
    caf::reacts_to<environment_ended>,
    /// The environment's code printed or logged.
    caf::reacts_to<environment_logged>>;

using environment_actor = caf::typed_actor<
    /// Calls a method; `reply_to` gets one environment_answered, within the deadline.
    caf::reacts_to<call_environment>,
    /// Ends the host, and then this actor.
    caf::reacts_to<stop_environment>>;

// Tool server.

/// A tool's result, for the agent.
struct tool_finished {
    std::string call_id;
    mcp::tool_output output;
    milliseconds duration{0};
};

using tool_user = caf::typed_actor<
    /// The one tool call that was open is done.
    caf::reacts_to<tool_finished>>;

/// The environment's `configure_tools`.
struct register_tools {
    json tools;
    std::vector<std::string> builtin;
};

struct call_tool {
    tool_call call;
    tool_user reply_to;
};

/// From an MCP client; `reply` may be called from any thread.
struct tool_requested {
    mcp::call_request request;
    std::function<void(mcp::tool_output)> reply;
};

struct tool_request_dropped {
    std::uint64_t number = 0;
};

/// A builtin tool is done.
struct builtin_tool_finished {
    std::uint64_t number = 0;
    mcp::tool_output output;
};

/// A step's work begins: tools may be called.
struct open_tools {};

/// A step's work is over: no tool may be called until the next, and what the student left running is killed.
struct close_tools {};

/// What became of that.
struct student_stopped {
    confinement::kill_report report;
};

struct tools_listening {
    std::uint16_t port = 0;
};

struct tools_registered {
    tool_list tools;
};

/// The tool server cannot do what it was asked to.
struct tool_trouble {
    failure why;
};

struct tool_logged {
    log_line line;
};

/// A call that came over HTTP is done: the agent that made it does not tell of it.
struct tool_used {
    tool_call call;
    tool_result outcome;
};

using tool_server_owner = caf::typed_actor<
    /// Reachable by MCP clients.
    caf::reacts_to<tools_listening>,
    /// The tools are known.
    caf::reacts_to<tools_registered>,
    /// The run cannot go on.
    caf::reacts_to<tool_trouble>,
    /// A line for the run's log.
    caf::reacts_to<tool_logged>,
    /// An MCP client's call, to be recorded.
    caf::reacts_to<tool_used>,
    /// The answer to close_tools.
    caf::reacts_to<student_stopped>>;

using tool_server_actor = caf::typed_actor<
    /// Takes over the environment's list of tools.
    caf::reacts_to<register_tools>,
    /// The builtin agent's call.
    caf::reacts_to<call_tool>,
    /// A call over HTTP.
    caf::reacts_to<tool_requested>,
    /// Nobody waits for that call any more.
    caf::reacts_to<tool_request_dropped>,
    /// A builtin tool is done.
    caf::reacts_to<builtin_tool_finished>,
    /// A step's work begins.
    caf::reacts_to<open_tools>,
    /// A step's work is over.
    caf::reacts_to<close_tools>,
    /// The student's processes are gone.
    caf::reacts_to<student_stopped>,
    /// An environment's tool is done.
    caf::reacts_to<environment_answered>>;

// Agent.

/// A message of the harness for the conversation: system prompt or instructions.
struct hear_message {
    message_role role = message_role::user;
    std::string text;
};

struct use_tools {
    tool_list tools;
    std::string mcp_url; ///< where an agent that is a program of its own finds them
    std::string mcp_token;
};

struct work_on_step {
    std::size_t index = 0;
    solution_command solution; ///< of the oracle; the others find their own
};

/// From the model, for the agent itself: its turn, or why there is none.
struct turn_arrived {
    model::turn_result turn = model::turn{};
};

/// A CLI agent's program printed lines, for the agent itself.
struct program_printed {
    std::vector<std::string> lines;
};

/// A program that a CLI agent started for the student is done, for the agent itself.
struct program_ended {
    result<confinement::command_result> how = confinement::command_result{};
};

/// What the run has spent, for the agent itself.
struct spending_told {
    result<gateway::spending> spent = gateway::spending{};
};

/// Time to look at what a CLI agent's program has spent, for the agent itself. `program` counts them.
struct look_at_spending {
    std::uint64_t program = 0;
};

/// What a CLI agent's program left running is killed, for the agent itself.
struct program_cleaned_up {
    confinement::kill_report report;
};

/// Something the agent did, to be recorded.
struct agent_did {
    event_body body;
};

struct agent_finished_step {
    std::size_t index = 0;
};

struct agent_failed {
    failure why;
};

using agent_owner = caf::typed_actor<
    /// One more event.
    caf::reacts_to<agent_did>,
    /// The step's work is over.
    caf::reacts_to<agent_finished_step>,
    /// The run cannot go on.
    caf::reacts_to<agent_failed>>;

using agent_actor = caf::typed_actor<
    /// Adds to the conversation.
    caf::reacts_to<hear_message>,
    /// The tools that the model may call.
    caf::reacts_to<use_tools>,
    /// Works until agent_finished_step or agent_failed.
    caf::reacts_to<work_on_step>,
    /// Holds it between turns, or lets it go on.
    caf::reacts_to<event_flow>,
    /// The model's turn.
    caf::reacts_to<turn_arrived>,
    /// A tool's result.
    caf::reacts_to<tool_finished>,
    /// A CLI agent's program said something.
    caf::reacts_to<program_printed>,
    /// A CLI agent's program is done.
    caf::reacts_to<program_ended>,
    /// So is what it left behind.
    caf::reacts_to<program_cleaned_up>,
    /// What the run has spent.
    caf::reacts_to<spending_told>,
    /// Time to ask for that.
    caf::reacts_to<look_at_spending>>;

// Harness.

/// The student's firewall was set or tried.
struct firewall_checked {
    result<std::string> found = std::string();
};

/// The student's processes were killed, by the watchdog.
struct watchdog_tripped {
    std::string passed; ///< which limit
};

/// Files of a step were copied (each has been recorded by then).
struct artifacts_copied {};

/// The harness as its children see it.
using harness_core = harness_actor::extend_with<environment_user>::extend_with<environment_owner>::
    extend_with<tool_server_owner>::extend_with<agent_owner>::extend<
        /// The step's files are saved.
        caf::reacts_to<artifacts_copied>,
        /// Whether the student stays inside.
        caf::reacts_to<firewall_checked>,
        /// The student went over a limit that nothing else holds.
        caf::reacts_to<watchdog_tripped>>;

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::environment_answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::call_environment)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::stop_environment)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::environment_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::environment_logged)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tool_finished)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::register_tools)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::call_tool)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tool_requested)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tool_request_dropped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::builtin_tool_finished)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tools_listening)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tools_registered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tool_trouble)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tool_logged)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::tool_used)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::open_tools)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::close_tools)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::student_stopped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::program_printed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::program_cleaned_up)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::spending_told)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::look_at_spending)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::watchdog_tripped)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::program_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::hear_message)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::use_tools)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::work_on_step)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::turn_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::agent_did)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::agent_finished_step)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::agent_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::artifacts_copied)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::firewall_checked)
