#include "actors/harness/oracle_agent.hpp"

#include "actors/harness/stopped_student.hpp"
#include "actors/harness/weak_handle.hpp"
#include "config/defaults.hpp"

#include <fmt/format.h>

namespace chalk::actors {

namespace {

struct oracle_state {
    oracle_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    agent_owner owner;
    std::shared_ptr<confinement::student_commands> commands;
    std::size_t step = 0;
    static constexpr const char* name = "oracle";
};

class oracle : public agent_actor::stateful_base<oracle_state> {
  public:
    oracle(caf::actor_config& cfg, boost::asio::io_context& io, oracle_options options, agent_owner owner)
        : agent_actor::stateful_base<oracle_state>(cfg), io_(io), options_(std::move(options)) {
        state.owner = std::move(owner);
    }

    behavior_type make_behavior() override {
        state.commands = confinement::student_commands::make(io_, options_.student);
        return {[](const hear_message&) {}, // it knows the answer
                [](const use_tools&) {},
                [this](const work_on_step& m) { begin(m); },
                [](const event_flow&) {}, // one program, one message
                [](const turn_arrived&) {},
                [](const tool_finished&) {},
                [](const program_printed&) {},
                [this](const program_ended& m) { ended(m.how); },
                [this](const program_cleaned_up& m) { cleaned_up(m.report); },
                [](const spending_told&) {}, // it asks no model
                [](const look_at_spending&) {}};
    }

  private:
    void begin(const work_on_step& work) {
        state.step = work.index;
        confinement::student_command program;
        program.argv = work.solution.argv;
        program.environment = work.solution.environment;
        program.timeout = options_.limits.max_time ? milliseconds(*options_.limits.max_time)
                                                   : milliseconds(config::defaults::agent_program);
        state.commands->run(std::move(program),
                            [self = weak_handle<agent_actor>{agent_actor(this)}](
                                result<confinement::command_result> how) { self.send(program_ended{std::move(how)}); });
    }

    /// However it ended, what it did is judged: only a program that could not be run at all fails the run.
    void ended(const result<confinement::command_result>& how) {
        if (!how) {
            send(state.owner, agent_failed{how.error()});
            return;
        }
        if (how->timed_out && !options_.limits.max_time) {
            send(state.owner, agent_failed{timeout_failure(fmt::format("step {}: the solution did not end within {} s",
                                                                       state.step, how->duration.count() / 1000))});
            return;
        }
        const auto text = fmt::format("The solution {}.\n{}",
                                      how->timed_out ? "was stopped" : process::describe(how->status), how->output);
        did(message_added{message_role::assistant, text, {}, {}, {}, std::nullopt, {}});
        if (how->timed_out) {
            did(limit_reached{
                limit_kind::time, static_cast<std::uint64_t>(how->duration.count()),
                fmt::format("step {}: the limit of {} s is reached", state.step, options_.limits.max_time->count())});
        }
        // What it left running goes with the step.
        state.commands->kill_all([self = weak_handle<agent_actor>{agent_actor(this)}](confinement::kill_report report) {
            self.send(program_cleaned_up{report});
        });
    }

    void cleaned_up(confinement::kill_report report) {
        if (auto line = line_of(report)) {
            did(std::move(*line));
        }
        send(state.owner, agent_finished_step{state.step});
    }

    void did(event_body body) { send(state.owner, agent_did{std::move(body)}); }

    boost::asio::io_context& io_;
    oracle_options options_;
};

} // namespace

agent_actor spawn_oracle(caf::local_actor* self, boost::asio::io_context& io, oracle_options options,
                         agent_owner owner) {
    return self->spawn<oracle, caf::linked>(io, std::move(options), std::move(owner));
}

} // namespace chalk::actors
