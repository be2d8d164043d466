#include "actors/harness/cli_agent_actor.hpp"

#include "actors/harness/cli_agent_step.hpp"
#include "actors/harness/limit_watch.hpp"
#include "actors/harness/stopped_student.hpp"
#include "actors/harness/weak_handle.hpp"
#include "config/defaults.hpp"
#include "protocol/environment/line_splitter.hpp"
#include "protocol/net/port_forwarder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace chalk::actors {

namespace {

struct cli_agent_state {
    cli_agent_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    agent_owner owner;
    std::shared_ptr<port_forwarder> gateway;
    std::shared_ptr<confinement::student_commands> commands;
    std::string prompt;
    std::string mcp_url;
    std::string mcp_token;
    std::size_t step = 0;
    std::optional<cli_agent_step> working;
    std::shared_ptr<environment::line_splitter> lines; ///< fed on the io thread while the program runs
    config::cli_agent_start start;
    std::deque<std::pair<std::string, std::string>> files; ///< path and content, not yet written
    bool writing = false;
    std::uint64_t program = 0;                              ///< counts the steps' programs
    std::optional<std::uint64_t> command;                   ///< the one that runs, to cancel it
    std::optional<result<confinement::command_result>> how; ///< it ended, and waits for what it spent
    bool asking = false;                                    ///< the gateway, what was spent
    bool ask_again = false;                                 ///< since the program ended meanwhile
    std::uint64_t context = 0;                              ///< the largest of the step: the gateway tells it but once
    static constexpr const char* name = "CLI agent";
};

/// Between two looks at what a program has spent, where a limit depends on it. The gateway counts by itself; this only
/// decides how late a program is stopped.
constexpr seconds spending_interval{1};

model_use use_of(const gateway::spending& spent) {
    return {spent.requests, spent.tokens.input + spent.tokens.output, spent.waited, spent.usd.value_or(0)};
}

/// The bare name, as the provider knows it.
std::string without_prefix(const std::string& model) {
    const auto slash = model.find('/');
    return slash == std::string::npos ? model : model.substr(slash + 1);
}

class cli_agent : public agent_actor::stateful_base<cli_agent_state> {
  public:
    cli_agent(caf::actor_config& cfg, boost::asio::io_context& io, cli_agent_options options, agent_owner owner)
        : agent_actor::stateful_base<cli_agent_state>(cfg), io_(io), options_(std::move(options)),
          watch_(options_.limits) {
        state.owner = std::move(owner);
    }

    behavior_type make_behavior() override {
        state.commands = confinement::student_commands::make(io_, options_.student);
        return {
            [this](const hear_message& m) {
                if (m.role == message_role::user) {
                    state.prompt = m.text;
                }
            },
            [this](const use_tools& m) {
                state.mcp_url = m.mcp_url;
                state.mcp_token = m.mcp_token;
            },
            [this](const work_on_step& m) { begin(m.index); },
            [](const event_flow&) {}, // a program of its own cannot be held between turns
            [](const turn_arrived&) {},
            [](const tool_finished&) {},
            [this](const program_printed& m) { heard(m.lines); },
            [this](const program_ended& m) { ended(m.how); },
            [this](const program_cleaned_up& m) { cleaned_up(m.report); },
            [this](const spending_told& m) { told(m.spent); },
            [this](const look_at_spending& m) {
                if (m.program == state.program && state.command) {
                    ask_spending();
                }
            },
        };
    }

  private:
    void begin(std::size_t index) {
        state.step = index;
        state.context = 0; // each step's program starts without one
        watch_.set_context(0);
        watch_.begin_step(index, clock().now());
        if (auto limit = watch_.reached(clock().now())) {
            send(state.owner, agent_did{std::move(*limit)}); // the run's: this step has nothing left
            finish();
            return;
        }
        if (!state.gateway) {
            auto gateway = port_forwarder::listen(io_, options_.gateway_socket);
            if (!gateway) {
                send(state.owner, agent_failed{gateway.error()});
                return;
            }
            state.gateway = std::move(*gateway);
        }
        state.working.emplace(options_.agent, index);
        config::cli_agent_values values;
        values.prompt = state.prompt;
        values.model = without_prefix(options_.model);
        values.gateway = fmt::format("http://127.0.0.1:{}", state.gateway->port());
        values.key = "chalk"; // any: the gateway knows the run by its socket
        values.mcp = state.mcp_url;
        values.mcp_token = state.mcp_token;
        values.home = fmt::format("{}/.chalk/{}", options_.student.home, options_.agent.name);
        state.start = config::fill_in(options_.agent, values);
        if (!options_.program.empty()) {
            state.start.argv.front() = options_.program;
        }
        state.files.assign(state.start.files.begin(), state.start.files.end());
        go_on();
    }

    /// First its files, one after the other, then the program.
    void go_on() {
        if (state.files.empty()) {
            state.writing = false;
            run_program();
            return;
        }
        state.writing = true;
        auto [path, content] = std::move(state.files.front());
        state.files.pop_front();
        confinement::student_command write;
        write.argv = {"/bin/sh", "-c", "umask 077 && mkdir -p \"${1%/*}\" && cat > \"$1\"", "sh", path};
        write.input = std::move(content);
        write.timeout = config::defaults::environment_query;
        run(std::move(write));
    }

    void run_program() {
        confinement::student_command program;
        // Its stderr is for people; on stdout it would break the lines of JSON in two.
        program.argv = {"/bin/sh", "-c", "mkdir -p .chalk && exec \"$@\" 2>>.chalk/agent.log", "sh"};
        program.argv.insert(program.argv.end(), state.start.argv.begin(), state.start.argv.end());
        program.environment = state.start.environment;
        program.timeout = watch_.time_left(clock().now()).value_or(milliseconds(config::defaults::agent_program));
        const weak_handle<agent_actor> self{agent_actor(this)};
        state.lines = std::make_shared<environment::line_splitter>(config::defaults::agent_line.count,
                                                                   environment::line_splitter::overflow::cut);
        program.on_output = [self, lines = state.lines](std::string_view bytes) {
            program_printed printed;
            (void)lines->feed(bytes, [&](std::string&& line) { // true: it cuts what is too long
                printed.lines.push_back(std::move(line));
                return true;
            });
            if (!printed.lines.empty()) {
                self.send(std::move(printed));
            }
        };
        state.command = run(std::move(program));
        ++state.program;
        if (watch_.limits_use()) {
            look_again();
        }
    }

    std::uint64_t run(confinement::student_command what) {
        return state.commands->run(std::move(what), [self = weak_handle<agent_actor>{agent_actor(this)}](
                                                        result<confinement::command_result> how) {
            self.send(program_ended{std::move(how)});
        });
    }

    void look_again() { delayed_send(agent_actor(this), spending_interval, look_at_spending{state.program}); }

    void ask_spending() {
        if (std::exchange(state.asking, true)) {
            state.ask_again = true;
            return;
        }
        options_.spending->ask([self = weak_handle<agent_actor>{agent_actor(this)}](result<gateway::spending> spent) {
            self.send(spending_told{std::move(spent)});
        });
    }

    void told(const result<gateway::spending>& spent) {
        state.asking = false;
        if (spent) {
            state.context = std::max(state.context, spent->context_tokens);
        }
        if (std::exchange(state.ask_again, false)) {
            ask_spending();
            return;
        }
        if (!spent) {
            send(state.owner, agent_failed{spent.error()});
            return;
        }
        watch_.set_use(use_of(*spent));
        watch_.set_context(state.context);
        if (state.how) {
            end_step(*std::exchange(state.how, std::nullopt));
        } else if (state.command && watch_.reached(clock().now())) {
            state.commands->cancel(*state.command);
        } else {
            look_again();
        }
    }

    void heard(const std::vector<std::string>& lines) {
        for (const auto& line : lines) {
            for (auto& body : state.working->on_line(line)) {
                send(state.owner, agent_did{std::move(body)});
            }
        }
    }

    void ended(const result<confinement::command_result>& how) {
        if (state.writing) {
            if (!how || !how->status.success()) {
                send(state.owner, agent_failed{how ? sandbox_failure(fmt::format("agent {}: cannot write its files: {}",
                                                                                 options_.agent.name, how->output))
                                                   : how.error()});
                return;
            }
            go_on();
            return;
        }
        heard({state.lines->take_rest()}); // the program is done: nobody feeds it any more
        state.command.reset();
        state.how = how;
        ask_spending();
    }

    void end_step(const result<confinement::command_result>& how) {
        auto end = state.working->on_end(how, watch_.reached(clock().now()));
        for (auto& body : end.record) {
            send(state.owner, agent_did{std::move(body)});
        }
        if (end.why) {
            send(state.owner, agent_failed{std::move(*end.why)});
            return;
        }
        finish();
    }

    /// What the program left running goes with the step.
    void finish() {
        watch_.end_step(clock().now());
        state.commands->kill_all([self = weak_handle<agent_actor>{agent_actor(this)}](confinement::kill_report report) {
            self.send(program_cleaned_up{report});
        });
    }

    void cleaned_up(confinement::kill_report report) {
        if (auto line = line_of(report)) {
            send(state.owner, agent_did{std::move(*line)});
        }
        send(state.owner, agent_finished_step{state.step});
    }

    boost::asio::io_context& io_;
    cli_agent_options options_;
    limit_watch watch_;
};

} // namespace

const config::cli_agent* cli_agent_of(const config::run_config& config) {
    return config.use_fake_model ? nullptr : config::find_cli_agent(config.agent);
}

agent_actor spawn_cli_agent(caf::local_actor* self, boost::asio::io_context& io, cli_agent_options options,
                            agent_owner owner) {
    return self->spawn<cli_agent, caf::linked>(io, std::move(options), std::move(owner));
}

} // namespace chalk::actors
