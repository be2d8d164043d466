#include "actors/harness/agent_actor.hpp"
#include "actors/harness/artifacts.hpp"
#include "actors/harness/cli_agent_actor.hpp"
#include "actors/harness/environment_actor.hpp"
#include "actors/harness/environment_answers.hpp"
#include "actors/harness/environment_errors.hpp"
#include "actors/harness/lifecycle.hpp"
#include "actors/harness/noop_environment.hpp"
#include "actors/harness/oracle_agent.hpp"
#include "actors/harness/prepared_marker.hpp"
#include "actors/harness/stopped_student.hpp"
#include "actors/harness/tool_server.hpp"
#include "actors/harness/weak_handle.hpp"
#include "config/defaults.hpp"
#include "config/external_agent.hpp"
#include "protocol/transcript/transcript.hpp"
#include "runtimes/confinement/watchdog/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace chalk::actors {

namespace {

namespace defaults = config::defaults;

constexpr int method_not_found = -32601; // JSON-RPC 2.0, 5.1

struct harness_state {
    harness_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    event_sink sink;
    environment_actor environment;
    tool_server_actor tools;
    agent_actor agent;
    std::optional<noop_environment> noop;  ///< in the place of `environment`
    std::vector<caf::actor_addr> children; ///< that have not ended yet
    std::vector<event_ptr> events;         ///< so far
    std::vector<event_ptr> unsent;         ///< of these, what the sink is yet to be told
    std::uint16_t tool_port = 0;
    std::string tool_token;
    std::uint64_t last_seq = 0;
    std::uint64_t call = 0;            ///< number of the environment's open call
    std::string method;                ///< and what it asks for
    std::size_t step = 0;              ///< that the oracle is to solve
    std::deque<lifecycle::fact> facts; ///< not yet looked at
    bool looking = false;
    bool writable = true;
    std::uint64_t dropped_lines = 0; ///< while the sink was not writable
    bool finishing = false;
    std::optional<prepared_marker> marker;
    std::unique_ptr<confinement::watchdog> watchdog; ///< null: nothing to watch
    static constexpr const char* name = "harness";

    harness_state(const harness_state&) = delete;
    harness_state& operator=(const harness_state&) = delete;
    /// Whatever the harness dies of, what it recorded has happened.
    ~harness_state() {
        if (!unsent.empty()) {
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

/// What a judge is given of the run so far.
json document_of(const config::run_config& config, const std::vector<event_ptr>& events) {
    transcript_header header;
    header.run_id = config.id.str();
    header.environment = config.environment.string();
    header.task = config.task;
    header.agent = config.agent;
    header.model = config.model;
    header.chalk_version = CHALK_VERSION;
    header.config = config::to_json(config);
    transcript_builder transcript(std::move(header));
    for (const auto& one : events) {
        transcript.add(one);
    }
    return transcript.document();
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
        if (manifest && manifest->step_time && !options_.config.limit.max_time) {
            options_.config.limit.max_time = manifest->step_time;
            log({log_level::info, "chalk",
                 fmt::format("a step may take {} s, as the environment says", manifest->step_time->count())});
        }
    }

    void carry_out(lifecycle::listen_for_tools&) {
        watch_student();
        const auto* cli = cli_agent_of(options_.config);
        state.tool_token = random_token();
        state.tools = spawn_tool_server(
            this, io_, {options_.config.mcp, state.tool_token, cli != nullptr, options_.student, options_.listens},
            state.environment, tool_server_owner(self()));
        adopt(state.tools);
        if (cli != nullptr) {
            state.agent =
                spawn_cli_agent(this, io_,
                                {*cli, options_.config.limit, options_.config.agent_program, options_.config.model,
                                 options_.student, options_.gateway_socket, make_spending_question()},
                                agent_owner(self()));
            adopt(state.agent);
            return;
        }
        if (options_.config.agent == config::oracle_agent) {
            state.agent = spawn_oracle(this, io_, {options_.config.limit, options_.student}, agent_owner(self()));
            adopt(state.agent);
            return;
        }
        auto mind = model::make_model(io_, model_settings_of(options_.config, options_.gateway_socket));
        if (!mind) {
            send(self(), agent_failed{mind.error()});
            return;
        }
        const auto turn_deadline =
            config::has_external_agent(options_.config) ? options_.external_message : defaults::model_turn;
        state.agent = spawn_agent(
            this,
            {options_.config.agent, options_.config.limit, std::move(*mind), make_spending_question(), turn_deadline},
            state.tools, agent_owner(self()));
        adopt(state.agent);
    }

    /// Null: no gateway counts what the agent asks for.
    [[nodiscard]] std::shared_ptr<gateway::spending_question> make_spending_question() const {
        const auto where = net::http_address::parse(options_.gateway_socket);
        return options_.config.use_fake_model || !where ? nullptr
                                                        : std::make_shared<gateway::spending_question>(io_, *where);
    }

    /// From before pre_hook on. Only a student with a user of its own can be told apart.
    void watch_student() {
        if (!options_.watched_disk || !options_.student.become) {
            return;
        }
        confinement::watchdog_settings what;
        what.student = options_.student.become->uid;
        what.limits.disk = options_.watched_disk;
        what.folders = {options_.places.workdir, "/tmp", "/var/tmp", "/dev/shm"};
        state.watchdog =
            confinement::watchdog::start(std::move(what), [to = weak_handle<harness_core>(self())](std::string passed) {
                to.send(watchdog_tripped{std::move(passed)});
            });
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
        adopt(spawn<caf::detached + caf::linked>(
            // An argument, as for the copier below.
            [done = self()](caf::event_based_actor* me, const std::shared_ptr<const firewall_options>& what) {
                me->send(done, firewall_checked{check_firewall(*what)});
            },
            std::make_shared<const firewall_options>(options_.firewall)));
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
        if (const auto* cli = cli_agent_of(options_.config)) {
            const auto brings = [cli](const std::string& tool) {
                return std::ranges::find(cli->brings_tools, tool) != cli->brings_tools.end();
            };
            std::erase_if(command.builtin, brings);
        }
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
        const bool unknown = !answer && answer.error().code == method_not_found;
        auto solution = answer ? solution_of(*answer) : result<std::optional<solution_command>>(std::nullopt);
        if (!answer && !unknown) {
            if (auto trouble = trouble_of("solution", answer.error())) {
                happened(std::move(*trouble));
            }
        } else if (!solution) {
            happened(lifecycle::trouble{solution.error(), {}});
        } else if (!*solution) {
            happened(lifecycle::trouble{
                config_failure(fmt::format("step {}: the environment has no solution, which is what the agent {} runs",
                                           state.step, config::oracle_agent)),
                {}});
        } else {
            send(state.agent, work_on_step{state.step, std::move(**solution)});
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
        auto copier = spawn<caf::detached + caf::linked>(
            // The command goes as an argument: CAF 0.17 dereferences a null pointer for a function actor without any.
            [to = agent_owner(self()), done = self(),
             places = options_.places](caf::event_based_actor* me, const lifecycle::save_artifacts& wanted) {
                const auto report = copy_artifacts(places.workdir, places.out, wanted.index, wanted.patterns,
                                                   {defaults::artifact_size, defaults::artifacts_per_step});
                for (const auto& saved : report.saved) {
                    me->send(to, agent_did{saved});
                }
                for (const auto& complaint : report.complaints) {
                    me->send(to, agent_did{log_line{log_level::warning, "chalk", complaint}});
                }
                me->send(done, artifacts_copied{});
            },
            command);
        adopt(copier);
    }

    void carry_out(lifecycle::call_pre_scoring_hook& command) {
        ask("pre_scoring_hook", {{"index", command.index}}, defaults::environment_hook);
    }

    void carry_out(lifecycle::call_judge& command) {
        ask("judge", {{"index", command.index}}, defaults::environment_judge,
            [config = given_, events = state.events] { return document_of(*config, events); });
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
        if (!m.answer) {
            if (auto trouble = trouble_of(state.method, m.answer.error())) {
                happened(std::move(*trouble));
            }
            return;
        }
        auto fact = fact_of(state.method, *m.answer);
        if (!fact) {
            happened(lifecycle::trouble{fact.error(), {}});
            return;
        }
        happened(std::move(*fact));
    }

    /// After the final event nothing is recorded: it is the last.
    void record(event_body body) {
        if (final_recorded_) {
            return;
        }
        final_recorded_ = is_final(body);
        auto one =
            std::make_shared<const event>(event{++state.last_seq, std::chrono::system_clock::now(), std::move(body)});
        state.events.push_back(one);
        state.unsent.push_back(std::move(one));
        if (!state.looking) {
            tell_sink();
        }
    }

    /// What one fact led to goes as one message.
    void tell_sink() {
        if (!state.unsent.empty()) {
            send(state.sink, events_recorded{std::exchange(state.unsent, {})});
        }
    }

    void log(const log_line& line) {
        if (!state.writable) {
            ++state.dropped_lines;
            return;
        }
        record(line);
    }

    void flow(const event_flow& m) {
        state.writable = m.writable;
        if (m.writable && state.dropped_lines != 0) {
            record(log_line{log_level::warning, "chalk",
                            fmt::format("{} log lines were left out: the host could not take them fast enough",
                                        std::exchange(state.dropped_lines, 0))});
        }
        if (state.agent) {
            send(state.agent, m);
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
    bool final_recorded_ = false;
};

} // namespace

result<void> check_run_config(const config::run_config& config, const std::string& gateway_socket) {
    const auto& agents = config::agent_names();
    if (std::find(agents.begin(), agents.end(), config.agent) == agents.end()) {
        return config_failure(
            fmt::format("agent: there is no agent \"{}\"; known agents: {}", config.agent, fmt::join(agents, ", ")));
    }
    if (config::has_external_agent(config) && config.backend_uri.empty()) {
        return config_failure("agent external needs a backend, which its messages come from: set backend_uri");
    }
    if (const auto* cli = cli_agent_of(config); cli != nullptr && config.model.empty()) {
        return config_failure(fmt::format("agent {} needs a model: set model, or --model", cli->name));
    }
    return cli_agent_of(config) != nullptr || config.agent == config::oracle_agent
               ? result<void>{}
               : model::check_model(model_settings_of(config, gateway_socket));
}

harness_actor spawn_harness(caf::local_actor* owner, boost::asio::io_context& io, harness_options options,
                            event_sink sink) {
    return owner->spawn<harness>(io, std::move(options), std::move(sink));
}

} // namespace chalk::actors
