#include "actors/harness/agent_choice.hpp"
#include "actors/harness/blocking_helpers.hpp"
#include "actors/harness/call_meaning.hpp"
#include "actors/harness/cli_agent_actor.hpp"
#include "actors/harness/environment_actor.hpp"
#include "actors/harness/lifecycle.hpp"
#include "actors/harness/noop_environment.hpp"
#include "actors/harness/prepared_marker.hpp"
#include "actors/harness/run_events.hpp"
#include "actors/harness/stopped_student.hpp"
#include "actors/harness/student_watch.hpp"
#include "actors/harness/tool_server.hpp"
#include "config/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace chalk::actors {

namespace {

namespace defaults = config::defaults;

struct harness_state {
    harness_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    event_sink sink;
    environment_actor environment;
    tool_server_actor tools;
    agent_actor agent;
    std::optional<noop_environment> noop;  ///< in the place of `environment`
    std::vector<caf::actor_addr> children; ///< that have not ended yet
    run_events events;
    std::uint16_t tool_port = 0;
    std::string tool_token;
    std::uint64_t call = 0;            ///< number of the environment's open call
    std::string method;                ///< and what it asks for
    std::size_t step = 0;              ///< that the oracle is to solve
    std::deque<lifecycle::fact> facts; ///< not yet looked at
    bool looking = false;
    bool finishing = false;
    std::optional<prepared_marker> marker;
    std::unique_ptr<confinement::watchdog> watchdog; ///< null: nothing to watch
    static constexpr const char* name = "harness";

    harness_state(const harness_state&) = delete;
    harness_state& operator=(const harness_state&) = delete;
    /// Whatever the harness dies of, what it recorded has happened.
    ~harness_state() {
        if (auto unsent = events.take_unsent(); !unsent.empty()) {
            caf::anon_send(sink, events_recorded{std::move(unsent)});
        }
    }
};

lifecycle::settings settings_of(const harness_options& options) {
    const auto& config = options.config;
    return {config.agent,
            config.model,
            cli_agent_of(config) != nullptr, // it sends its own system message
            options.prepare_only,
            config.save_artifacts,
            config.extra_config,
            options.confinement_note};
}

class harness : public harness_core::stateful_base<harness_state> {
  public:
    harness(caf::actor_config& cfg, boost::asio::io_context& io, harness_options options, event_sink sink)
        : harness_core::stateful_base<harness_state>(cfg), io_(io), options_(std::move(options)),
          given_(std::make_shared<const config::run_config>(options_.config)), machine_(settings_of(options_)) {
        state.sink = std::move(sink);
    }

    behavior_type make_behavior() override {
        set_exit_handler([this](caf::exit_msg& m) { told_to_exit(m); });
        happened(std::nullopt);
        return {
            [this](const cancel_run& m) { happened(lifecycle::cancel_requested{m.reason}); },
            [this](const event_flow& m) { flow(m); },
            [this](const environment_answered& m) { answered(m); },
            [this](const environment_ended& m) {
                happened(lifecycle::trouble{m.why, {}});
            },
            [this](const environment_logged& m) { log(m.line); },
            [this](const tool_logged& m) { log(m.line); },
            [this](const tools_listening& m) {
                state.tool_port = m.port;
                check_student_firewall(m.port);
            },
            [this](const firewall_checked& m) { firewall_known(m.found); },
            [this](const tools_registered& m) { registered(m); },
            [this](const tool_trouble& m) {
                happened(lifecycle::trouble{m.why, {}});
            },
            [this](const tool_used& m) {
                record(message_added{message_role::assistant, {}, {}, {m.call}, {}, std::nullopt, {}});
                record(m.outcome);
            },
            [this](const agent_did& m) { record(m.body); },
            [this](const agent_finished_step&) { happened(lifecycle::agent_finished{}); },
            [this](const agent_failed& m) {
                happened(lifecycle::trouble{m.why, {}});
            },
            [this](const artifacts_copied&) { happened(lifecycle::artifacts_saved{}); },
            [this](const student_stopped& m) { stopped(m.report); },
            [this](const watchdog_tripped& m) {
                record(log_line{log_level::warning, "chalk",
                                fmt::format("the student went over a limit that nothing else holds ({}): all of its "
                                            "processes were killed",
                                            m.passed)});
            },
        };
    }

  private:
    /// Facts may come while commands are carried out; they wait for their turn. Without a fact: the run begins.
    void happened(std::optional<lifecycle::fact> what) {
        if (state.looking) {
            state.facts.push_back(std::move(*what));
            return;
        }
        state.looking = true;
        obey(what ? machine_.handle(std::move(*what), clock().now()) : machine_.start());
        while (!state.facts.empty()) {
            auto next = std::move(state.facts.front());
            state.facts.pop_front();
            obey(machine_.handle(std::move(next), clock().now()));
        }
        state.looking = false;
        tell_sink();
    }

    void obey(lifecycle::commands all) {
        for (auto& one : all) {
            std::visit([this](auto& command) { carry_out(command); }, one);
        }
    }

    void carry_out(lifecycle::load_task&) {
        if (auto checked = check_run_config(options_.config, options_.gateway_socket); !checked) {
            send(self(), tool_trouble{checked.error()});
            return;
        }
        if (options_.config.environment == config::noop_environment) {
            state.noop.emplace();
        } else {
            auto launch = launch_of(options_);
            take_step_time(launch.manifest);
            state.environment = spawn_environment(this, io_, std::move(launch), environment_owner(self()));
            adopt(state.environment);
        }
        json what = {{"name", options_.config.task}, {"args", options_.config.task_args}};
        if (options_.config.seed) {
            what["seed"] = *options_.config.seed;
        }
        ask("load_task", std::move(what), defaults::environment_load);
    }

    /// An environment may say how long a step may take; a run config that says so itself stands above it.
    void take_step_time(const result<config::environment_manifest>& manifest) {
        // A manifest that cannot be read fails the host's start.
        const auto allowed = manifest ? manifest->step_time : std::nullopt;
        if (allowed && !options_.config.limit.max_time) {
            options_.config.limit.max_time = allowed;
            log({log_level::info, "chalk",
                 fmt::format("a step may take {} s, as the environment says", allowed->count())});
        }
    }

    void carry_out(lifecycle::listen_for_tools&) {
        state.watchdog = watch_student(options_, self()); // from before pre_hook on
        const bool http_for_agent = cli_agent_of(options_.config) != nullptr;
        state.tool_token = random_token();
        state.tools = spawn_tool_server(
            this, io_, {options_.config.mcp, state.tool_token, http_for_agent, options_.student, options_.listens},
            state.environment, tool_server_owner(self()));
        adopt(state.tools);
        auto agent = spawn_chosen_agent(this, io_, options_, state.tools, agent_owner(self()));
        if (!agent) {
            send(self(), agent_failed{agent.error()});
            return;
        }
        state.agent = std::move(*agent);
        adopt(state.agent);
    }

    /// Before the student exists: it must not get out. Trying takes a second, and a thread of its own; most sandboxes
    /// have no way out that could be tried.
    void check_student_firewall(std::uint16_t tool_port) {
        const auto& config = options_.config;
        // It runs as the student and calls the tools itself.
        const bool program = cli_agent_of(config) != nullptr;
        if (auto closed = check_tool_port(options_.firewall.description, tool_port, program); !closed) {
            happened(lifecycle::trouble{closed.error(), {}});
            return;
        }
        if (!needs_firewall_check(options_.firewall)) {
            happened(lifecycle::tools_listening{});
            return;
        }
        adopt(spawn_firewall_check(this, self(), options_.firewall));
    }

    void firewall_known(const result<std::string>& found) {
        if (found) {
            happened(lifecycle::tools_listening{*found});
        } else {
            happened(lifecycle::trouble{found.error(), {}});
        }
    }

    void carry_out(lifecycle::configure_tools&) { ask("configure_tools", json::object(), defaults::environment_query); }

    void carry_out(lifecycle::register_tools& command) {
        leave_out_brought_tools(options_.config, command.builtin);
        send(state.tools, register_tools{std::move(command.tools), std::move(command.builtin)});
    }

    void registered(const tools_registered& m) {
        send(state.agent, use_tools{m.tools, fmt::format("http://{}:{}/mcp", options_.config.mcp.host, state.tool_port),
                                    state.tool_token});
        lifecycle::tools_registered fact;
        std::transform(m.tools->begin(), m.tools->end(), std::back_inserter(fact.names),
                       [](const mcp::tool_spec& tool) { return tool.name; });
        happened(std::move(fact));
    }

    void carry_out(lifecycle::record& command) { record(std::move(command.body)); }
    void carry_out(lifecycle::call_pre_hook&) { ask("pre_hook", json::object(), defaults::environment_hook); }
    void carry_out(lifecycle::ask_system_prompt&) { ask("system_prompt", json::object(), defaults::environment_query); }

    void carry_out(lifecycle::add_message& command) {
        record(message_added{command.role, command.text, {}, {}, {}, std::nullopt, {}});
        send(state.agent, hear_message{command.role, std::move(command.text)});
    }

    void carry_out(lifecycle::announce_prepared&) {
        auto marker = prepared_marker::make(options_.config.id);
        if (!marker) {
            send(self(), tool_trouble{marker.error()});
            return;
        }
        state.marker = std::move(*marker);
        tell_sink(); // first what came before it
        send(state.sink, run_prepared{});
    }

    void carry_out(lifecycle::begin_step& command) {
        ask("start_step", {{"index", command.index}}, defaults::environment_load);
    }

    void carry_out(lifecycle::let_agent_work& command) {
        send(state.tools, open_tools{});
        if (options_.config.agent == config::oracle_agent) {
            state.step = command.index;
            ask("solution", {{"index", command.index}}, defaults::environment_load);
            return;
        }
        send(state.agent, work_on_step{command.index, {}});
    }

    /// Of the environment's answer to "solution": the oracle goes to work.
    void solve(const environment::call_result& answer) {
        auto found = solution_in(answer, state.step);
        if (auto* why = std::get_if<lifecycle::trouble>(&found)) {
            happened(std::move(*why));
        } else if (auto* solution = std::get_if<solution_command>(&found)) {
            send(state.agent, work_on_step{state.step, std::move(*solution)});
        }
    }

    void carry_out(lifecycle::stop_student&) { send(state.tools, close_tools{}); }

    void stopped(confinement::kill_report report) {
        if (auto line = line_of(report)) {
            record(std::move(*line));
        }
        happened(lifecycle::student_stopped{});
    }

    /// Copying blocks: it gets a thread of its own, and only for a task that wants files saved.
    void carry_out(lifecycle::save_artifacts& command) {
        adopt(spawn_artifact_copier(this, self(), options_.places, command));
    }

    void carry_out(lifecycle::call_pre_scoring_hook& command) {
        ask("pre_scoring_hook", {{"index", command.index}}, defaults::environment_hook);
    }

    void carry_out(lifecycle::call_judge& command) {
        ask("judge", {{"index", command.index}}, defaults::environment_judge,
            [config = given_, events = state.events.all()] { return transcript_so_far(*config, events); });
    }

    void carry_out(lifecycle::call_post_hook& command) {
        ask("post_hook", {{"index", command.index}}, defaults::environment_hook);
    }

    void carry_out(lifecycle::finish& command) {
        state.finishing = true;
        state.marker.reset();
        // Not as this actor: CAF takes a link to who sends an exit as undone, and nobody would tell of the child's end.
        if (state.agent) {
            caf::anon_send_exit(state.agent, caf::exit_reason::user_shutdown);
        }
        if (state.tools) {
            caf::anon_send_exit(state.tools, caf::exit_reason::user_shutdown);
        }
        if (state.environment) {
            send(state.environment, stop_environment{command.orderly});
        }
        quit_when_alone();
    }

    void ask(std::string method, json params, milliseconds deadline, std::function<json()> transcript = nullptr) {
        state.method = method;
        ++state.call;
        if (state.noop) {
            answered({state.call, state.noop->answer(method, params)});
            return;
        }
        send(state.environment, call_environment{state.call, std::move(method), std::move(params), deadline,
                                                 environment_user(self()), nullptr, std::move(transcript)});
    }

    void answered(const environment_answered& m) {
        if (m.number != state.call) {
            return;
        }
        if (state.method == "solution") {
            solve(m.answer);
            return;
        }
        if (auto fact = meaning_of(state.method, m.answer)) {
            happened(std::move(*fact));
        }
    }

    void record(event_body body) {
        state.events.record(std::move(body), std::chrono::system_clock::now());
        tell_sink_now();
    }

    void log(const log_line& line) {
        state.events.log(line, std::chrono::system_clock::now());
        tell_sink_now();
    }

    void flow(const event_flow& m) {
        state.events.set_writable(m.writable, std::chrono::system_clock::now());
        tell_sink_now();
        if (state.agent) {
            send(state.agent, m);
        }
    }

    /// What one fact led to goes as one message.
    void tell_sink_now() {
        if (!state.looking) {
            tell_sink();
        }
    }

    void tell_sink() {
        if (auto unsent = state.events.take_unsent(); !unsent.empty()) {
            send(state.sink, events_recorded{std::move(unsent)});
        }
    }

    template<class Handle>
    void adopt(const Handle& child) {
        state.children.push_back(child.address());
    }

    /// A child's end, or anyone else's order: then the links take the children along.
    void told_to_exit(const caf::exit_msg& m) {
        const auto found = std::find(state.children.begin(), state.children.end(), m.source);
        if (found == state.children.end()) {
            if (m.reason) {
                quit(m.reason);
            }
            return;
        }
        state.children.erase(found);
        if (state.finishing) {
            quit_when_alone();
        } else if (m.reason) {
            happened(lifecycle::trouble{
                harness_failure(fmt::format("a part of the harness died: {}", system().render(m.reason))), {}});
        }
    }

    void quit_when_alone() {
        if (state.children.empty()) {
            quit();
        }
    }

    harness_core self() { return harness_core(this); }

    boost::asio::io_context& io_;
    harness_options options_;
    std::shared_ptr<const config::run_config> given_; ///< the config as it came
    lifecycle::machine machine_;
};

} // namespace

harness_actor spawn_harness(caf::local_actor* owner, boost::asio::io_context& io, harness_options options,
                            event_sink sink) {
    return owner->spawn<harness>(io, std::move(options), std::move(sink));
}

} // namespace chalk::actors
