#include "actors/harness/agent_actor.hpp"
#include "actors/harness/artifacts.hpp"
#include "actors/harness/cli_agent_actor.hpp"
#include "actors/harness/environment_actor.hpp"
#include "actors/harness/environment_answers.hpp"
#include "actors/harness/environment_errors.hpp"
#include "actors/harness/lifecycle.hpp"
#include "actors/harness/prepared_marker.hpp"
#include "actors/harness/tool_server.hpp"
#include "config/defaults.hpp"
#include "config/external_agent.hpp"
#include "protocol/transcript/transcript.hpp"

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
    std::vector<caf::actor_addr> children; ///< that are not down yet
    std::unique_ptr<transcript_builder> transcript;
    std::uint16_t tool_port = 0;
    std::string tool_token;
    std::uint64_t last_seq = 0;
    std::uint64_t call = 0;            ///< number of the environment's open call
    std::string method;                ///< and what it asks for
    std::deque<lifecycle::fact> facts; ///< not yet looked at
    bool looking = false;
    bool writable = true;
    std::uint64_t dropped_lines = 0; ///< while the sink was not writable
    bool finishing = false;
    std::optional<prepared_marker> marker;
    static constexpr const char* name = "harness";
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

transcript_header header_of(const config::run_config& config) {
    transcript_header header;
    header.run_id = config.id.str();
    header.environment = config.environment.string();
    header.task = config.task;
    header.agent = config.agent;
    header.model = config.model;
    header.chalk_version = CHALK_VERSION;
    header.config = config::to_json(config);
    return header;
}

class harness : public harness_core::stateful_base<harness_state> {
  public:
    harness(caf::actor_config& cfg, boost::asio::io_context& io, harness_options options, event_sink sink)
        : harness_core::stateful_base<harness_state>(cfg), io_(io), options_(std::move(options)),
          machine_(settings_of(options_)) {
        state.sink = std::move(sink);
        state.transcript = std::make_unique<transcript_builder>(header_of(options_.config));
    }

    behavior_type make_behavior() override {
        set_down_handler([this](caf::down_msg& m) { down(m); });
        set_exit_handler([this](caf::exit_msg& m) { told_to_exit(m); });
        obey(machine_.start());
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
        };
    }

  private:
    /// Facts may come while commands are carried out; they wait for their turn.
    void happened(lifecycle::fact what) {
        state.facts.push_back(std::move(what));
        if (state.looking) {
            return;
        }
        state.looking = true;
        while (!state.facts.empty()) {
            auto next = std::move(state.facts.front());
            state.facts.pop_front();
            obey(machine_.handle(std::move(next), clock().now()));
        }
        state.looking = false;
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
        state.environment = spawn_environment(this, io_, launch_of(options_), environment_owner(self()));
        adopt(state.environment);
        ask("load_task", {{"name", options_.config.task}, {"args", options_.config.task_args}},
            defaults::environment_load);
    }

    void carry_out(lifecycle::listen_for_tools&) {
        const auto* cli = cli_agent_of(options_.config);
        state.tool_token = random_token();
        state.tools =
            spawn_tool_server(this, io_, {options_.config.mcp, state.tool_token, cli != nullptr, options_.student},
                              state.environment, tool_server_owner(self()));
        adopt(state.tools);
        if (cli != nullptr) {
            state.agent = spawn_cli_agent(this, io_,
                                          {*cli, options_.config.limit, options_.config.agent_program,
                                           options_.config.model, options_.student, options_.gateway_socket},
                                          agent_owner(self()));
            adopt(state.agent);
            return;
        }
        auto mind = model::make_model(io_, model_settings_of(options_.config, options_.gateway_socket));
        if (!mind) {
            send(self(), agent_failed{mind.error()});
            return;
        }
        const auto turn_deadline =
            config::has_external_agent(options_.config) ? defaults::external_message : defaults::model_turn;
        state.agent = spawn_agent(this, {options_.config.agent, options_.config.limit, std::move(*mind), turn_deadline},
                                  state.tools, agent_owner(self()));
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
        adopt(spawn<caf::detached + caf::linked + caf::monitored>(
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
        send(state.sink, run_prepared{});
    }

    void carry_out(lifecycle::begin_step& command) {
        ask("start_step", {{"index", command.index}}, defaults::environment_load);
    }

    void carry_out(lifecycle::let_agent_work& command) { send(state.agent, work_on_step{command.index}); }

    /// Copying blocks: it gets a thread of its own, and only for a task that wants files saved.
    void carry_out(lifecycle::save_artifacts& command) {
        auto copier = spawn<caf::detached + caf::linked + caf::monitored>(
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
        ask("judge", {{"index", command.index}, {"transcript", state.transcript->document()}},
            defaults::environment_judge);
    }

    void carry_out(lifecycle::call_post_hook& command) {
        ask("post_hook", {{"index", command.index}}, defaults::environment_hook);
    }

    void carry_out(lifecycle::finish& command) {
        state.finishing = true;
        state.marker.reset();
        if (state.agent) {
            send_exit(state.agent, caf::exit_reason::user_shutdown);
        }
        if (state.tools) {
            send_exit(state.tools, caf::exit_reason::user_shutdown);
        }
        if (state.environment) {
            send(state.environment, stop_environment{command.orderly});
        }
        quit_when_alone();
    }

    void ask(std::string method, json params, milliseconds deadline) {
        state.method = method;
        send(state.environment,
             call_environment{++state.call, std::move(method), std::move(params), deadline, environment_user(self())});
    }

    void answered(const environment_answered& m) {
        if (m.number != state.call) {
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
        state.transcript->add(one);
        send(state.sink, event_recorded{std::move(one)});
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

    void down(const caf::down_msg& m) {
        const auto found = std::find(state.children.begin(), state.children.end(), m.source);
        if (found == state.children.end()) {
            return;
        }
        state.children.erase(found);
        if (state.finishing) {
            quit_when_alone();
            return;
        }
        if (m.reason) {
            happened(lifecycle::trouble{
                harness_failure(fmt::format("a part of the harness died: {}", system().render(m.reason))), {}});
        }
    }

    void quit_when_alone() {
        if (state.children.empty()) {
            quit();
        }
    }

    /// A child's end comes as down_msg too; anyone else's word is an order, and the links take the children along.
    void told_to_exit(const caf::exit_msg& m) {
        const bool of_child = std::find(state.children.begin(), state.children.end(), m.source) != state.children.end();
        if (!of_child && m.reason) {
            quit(m.reason);
        }
    }

    harness_core self() { return harness_core(this); }

    boost::asio::io_context& io_;
    harness_options options_;
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
    return cli_agent_of(config) != nullptr ? result<void>{}
                                           : model::check_model(model_settings_of(config, gateway_socket));
}

harness_actor spawn_harness(caf::local_actor* owner, boost::asio::io_context& io, harness_options options,
                            event_sink sink) {
    return owner->spawn<harness>(io, std::move(options), std::move(sink));
}

} // namespace chalk::actors
