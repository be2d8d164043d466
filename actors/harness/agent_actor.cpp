#include "actors/harness/agent_actor.hpp"

#include "actors/harness/agent_loop.hpp"
#include "actors/harness/weak_handle.hpp"
#include "config/external_agent.hpp"

namespace chalk::actors {

namespace {

struct agent_state {
    agent_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    agent_owner owner;
    tool_server_actor tools;
    tool_list tool_specs = std::make_shared<std::vector<mcp::tool_spec>>();
    std::shared_ptr<model::model> mind;
    std::shared_ptr<gateway::spending_question> spending; ///< null: no limit on dollars, or nothing costs any
    std::size_t step = 0;
    agent_loop::time_point asked;           ///< when the open turn was asked for
    std::optional<model::turn_result> turn; ///< that waits for what it cost
    milliseconds took{0};
    bool writable = true;
    std::optional<agent_loop::ask_model> held; ///< a turn that waits for the sink
    static constexpr const char* name = "agent";
};

class builtin_agent : public agent_actor::stateful_base<agent_state> {
  public:
    builtin_agent(caf::actor_config& cfg, agent_options options, tool_server_actor tools, agent_owner owner)
        : agent_actor::stateful_base<agent_state>(cfg), loop_(options.limits, options.turn_deadline) {
        state.mind = std::move(options.mind);
        if (loop_.limits_usd()) {
            state.spending = std::move(options.spending);
        }
        state.tools = std::move(tools);
        state.owner = std::move(owner);
    }

    behavior_type make_behavior() override {
        return {
            [this](const hear_message& m) { loop_.hear(m.role, m.text); },
            [this](const use_tools& m) { state.tool_specs = m.tools; },
            [this](const work_on_step& m) {
                state.step = m.index;
                obey(loop_.begin_step(m.index, clock().now()));
            },
            [this](const event_flow& m) { flow(m.writable); },
            [this](const turn_arrived& m) { arrived(m.turn); },
            [this](const spending_told& m) { told(m.spent); },
            [this](const tool_finished& m) { obey(loop_.on_tool_output(m.output, m.duration, clock().now())); },
            [](const program_printed&) {}, // a CLI agent's
            [](const program_ended&) {},
            [](const program_cleaned_up&) {},
            [](const look_at_spending&) {},
        };
    }

  private:
    void obey(agent_loop::commands all) {
        for (auto& one : all) {
            std::visit([this](auto& command) { carry_out(command); }, one);
        }
    }

    void carry_out(agent_loop::record& command) { send(state.owner, agent_did{std::move(command.body)}); }
    void carry_out(agent_loop::finish_step&) { send(state.owner, agent_finished_step{state.step}); }
    void carry_out(agent_loop::fail& command) { send(state.owner, agent_failed{std::move(command.why)}); }
    void carry_out(agent_loop::call_tool& command) {
        send(state.tools, call_tool{std::move(command.call), tool_user(agent_actor(this))});
    }

    void carry_out(agent_loop::ask_model& command) {
        if (!state.writable) {
            state.held = command;
            return;
        }
        state.asked = clock().now();
        state.mind->next_turn({loop_.messages(), state.tool_specs, command.step, command.turn, command.deadline},
                              [self = weak_handle<agent_actor>{agent_actor(this)}](model::turn_result turn) {
                                  self.send(turn_arrived{std::move(turn)});
                              });
    }

    /// The gateway, which knows the prices, has counted a turn by the time it arrives.
    void arrived(const model::turn_result& turn) {
        state.took = std::chrono::duration_cast<milliseconds>(clock().now() - state.asked);
        if (!state.spending) {
            heard(turn);
            return;
        }
        state.turn = turn;
        state.spending->ask([self = weak_handle<agent_actor>{agent_actor(this)}](result<gateway::spending> spent) {
            self.send(spending_told{std::move(spent)});
        });
    }

    void told(const result<gateway::spending>& spent) {
        if (!spent || !spent->usd) {
            send(state.owner, agent_failed{spent ? model_failure("the gateway does not know what the run's model "
                                                                 "calls cost, and the run has a limit on that")
                                                 : spent.error()});
            return;
        }
        loop_.on_spent(*spent->usd);
        heard(*std::exchange(state.turn, std::nullopt));
    }

    void heard(const model::turn_result& turn) {
        const auto now = clock().now();
        obey(turn ? loop_.on_turn(*turn, state.took, now) : loop_.on_failed_turn(turn.error(), state.took, now));
    }

    void flow(bool writable) {
        state.writable = writable;
        if (writable && state.held) {
            auto ask = *std::exchange(state.held, std::nullopt);
            carry_out(ask);
        }
    }

    agent_loop loop_;
};

} // namespace

model::model_settings model_settings_of(const config::run_config& config, std::string gateway) {
    return {config.model,
            config.model_args,
            config.use_fake_model,
            config.fake.script,
            config.fake.latency,
            std::move(gateway),
            config::has_external_agent(config)};
}

agent_actor spawn_agent(caf::local_actor* self, agent_options options, tool_server_actor tools, agent_owner owner) {
    return self->spawn<builtin_agent, caf::linked>(std::move(options), std::move(tools), std::move(owner));
}

} // namespace chalk::actors
