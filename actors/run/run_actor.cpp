#include "actors/node/interfaces.hpp"
#include "actors/run/run_machine.hpp"
#include "actors/run/stage_clock.hpp"
#include "actors/sinks/backend_sink.hpp"
#include "actors/sinks/websocket_sink.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

namespace chalk::actors {

namespace {

struct run_state {
    run_setup setup;
    std::optional<run_machine> machine;
    std::unique_ptr<harness_site> site;
    std::unique_ptr<websocket_sink> websocket;
    backend_sink backend; ///< null: the run has none, or it died
    std::uint64_t deadline_generation = 0;
    std::array<std::uint64_t, 2> deadline_set{}; ///< by deadline_kind: the generation that is in force
    stage_clock stages;
    bool has_transcript = false;
};

using run_base = run_actor::stateful_base<run_state>;

class run_impl final : public run_base {
  public:
    run_impl(caf::actor_config& config, run_setup setup) : run_base(config) {
        state.setup = std::move(setup);
        set_exception_handler([](std::exception_ptr& thrown) -> caf::error {
            try {
                std::rethrow_exception(thrown);
            } catch (const std::exception& e) {
                return caf::make_error(caf::sec::runtime_error, std::string(e.what()));
            } catch (...) {
                return caf::make_error(caf::sec::runtime_error, std::string("an unknown exception"));
            }
        });
        set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    }

    behavior_type make_behavior() override {
        const auto& order = *state.setup.order;
        const bool has_backend = order.backend && !order.prepare_only;
        state.machine.emplace(run_mode{order.sandboxed, order.prepare_only, order.transcript,
                                       has_backend ? undelivered_remark(*order.backend) : std::string{}},
                              order.deadlines);
        const run_actor me(this);
        state.site = order.sandboxed ? make_sandbox_site(state.setup.services->site, state.setup.order, me,
                                                         state.setup.model_socket)
                                     : make_local_site(state.setup.services->site, state.setup.services->local_harness,
                                                       state.setup.order, this, me, state.setup.model_socket);
        state.setup.services->watch->run_began(order);
        // The listener first: it must have every event from the first on.
        auto websocket = open_websocket_sink(*state.setup.services->site.io, order);
        if (websocket) {
            state.websocket = std::move(*websocket);
        }
        if (has_backend) {
            const auto& services = *state.setup.services;
            state.backend = services.spawn_backend_sink(this, {*order.backend, services.site.pool, services.site.io},
                                                        backend_client(me));
            monitor(state.backend);
        }
        if (!order.host_note.empty()) {
            tell(state.setup.record->add_own(log_line{log_level::info, "runtime", order.host_note}, now()));
        }
        obey(websocket ? state.machine->begin() : state.machine->refuse(websocket.error()));
        return {
            [this](const events_recorded& m) {
                for (const auto& one : m.events) {
                    on_event(one);
                }
            },
            [this](const run_prepared&) { obey(state.machine->harness_prepared()); },
            [this](const cancel_run& m) { obey(state.machine->cancel(m.reason)); },
            [this](const kill_run& m) { obey(state.machine->kill(m.reason)); },
            [this](const site_prepared& m) { on_prepared(m); },
            [this](const model_socket_opened& m) { obey(state.machine->prepared(m.how)); },
            [this](const site_started& m) { on_started(m); },
            [this](const site_ended& m) { obey(state.machine->harness_ended(m.how)); },
            [this](const site_removed& m) { obey(state.machine->removed(m.how)); },
            [this](const host_channel_ended& m) { obey(state.machine->channel_ended(m.why)); },
            [this](const transcript_written& m) { on_written(m); },
            [this](const backend_said& m) { log_backend(m.level, m.text); },
            [this](const backend_settled& m) { obey(state.machine->delivered(m.remark)); },
            [this](const deadline_passed& m) {
                if (m.generation == in_force(m.kind)) {
                    obey(state.machine->deadline_passed(m.kind));
                }
            },
            [this](const cut_off_run& m) { obey(state.machine->cut_off(m.why)); },
        };
    }

  private:
    static wall_time now() { return std::chrono::system_clock::now(); }

    std::uint64_t& in_force(deadline_kind kind) { return state.deadline_set.at(static_cast<std::size_t>(kind)); }

    /// What an event begins.
    std::optional<run_phase> phase_of(const event_body& body) {
        if (std::holds_alternative<step_started>(body)) {
            state.stages.enter(run_stage::agent, clock().now());
            return run_phase::agent;
        }
        if (std::holds_alternative<agent_completed>(body)) {
            state.stages.enter(run_stage::score, clock().now());
            return run_phase::score;
        }
        return std::nullopt;
    }

    void tell(const event_ptr& e) {
        if (state.websocket) {
            state.websocket->publish(e);
        }
        if (state.backend) {
            send(state.backend, events_recorded{{e}});
        }
        if (state.setup.services->watch->wants_events()) {
            state.setup.services->watch->run_event(*state.setup.order, e);
        }
    }

    /// After the final event nothing is said; then a remark on the run's end does.
    void log_backend(log_level level, const std::string& text) {
        if (!state.setup.record->sealed()) {
            tell(state.setup.record->add_own(log_line{level, "backend", text}, now()));
        }
    }

    /// The run goes on without it.
    void on_backend_down(const caf::error& reason) {
        state.backend = nullptr;
        const auto text = fmt::format("the backend sink died ({}): {}", system().render(reason),
                                      undelivered_remark(*state.setup.order->backend));
        log_backend(log_level::error, text);
        obey(state.machine->delivered(text));
    }

    /// Before the final event, after which nothing is said: what the run's models cost.
    void say_spending(const event_body& next) {
        const auto* account = state.setup.record->account();
        if (account == nullptr || !is_final(next) || state.setup.record->sealed()) {
            return;
        }
        const auto spent = account->so_far();
        if (spent.requests + spent.refused > 0) {
            tell(state.setup.record->add_own(log_line{log_level::info, "gateway", gateway::describe(spent)}, now()));
        }
    }

    void on_event(const event_ptr& next) {
        state.site->event_done();
        if (!state.machine->takes_events()) {
            return;
        }
        say_spending(next->body);
        auto kept = state.setup.record->add(next);
        if (!kept) {
            obey(state.machine->harness_misbehaved(kept.error()));
            return;
        }
        tell(*kept);
        obey(state.machine->event_added(state.setup.record->final_outcome(), phase_of((*kept)->body)));
    }

    /// The socket before the sandbox: its folder is one of the sandbox's mounts.
    void on_prepared(const site_prepared& m) {
        if (m.how && !state.setup.model_socket.empty()) {
            send(state.setup.node, open_model_socket{state.setup.who});
        } else {
            obey(state.machine->prepared(m.how));
        }
    }

    void on_started(const site_started& m) {
        if (state.machine->where() != run_machine::stage::starting) {
            return; // given up meanwhile: the message holds the sandbox, which goes with it
        }
        if (!m.made) {
            obey(state.machine->started(m.made.error()));
            return;
        }
        obey(state.machine->started(state.site->adopt(*m.made)));
    }

    void on_written(const transcript_written& m) {
        state.has_transcript = m.how.has_value();
        obey(state.machine->recorded(m.how));
    }

    void on_down(const caf::down_msg& down) {
        if (state.backend && down.source == state.backend.address()) {
            on_backend_down(down.reason);
        } else if (state.site->harness_went_down(down)) {
            const std::string how = down.reason ? "its actor ended: " + system().render(down.reason)
                                                : std::string("its actor ended normally");
            obey(state.machine->harness_ended({how, false, {}}));
        }
    }

    void obey(const run_commands& commands) {
        for (const auto& command : commands) {
            std::visit(overloaded{
                           [this](const run_do::prepare&) {
                               state.stages.enter(run_stage::prepare, clock().now());
                               state.site->prepare();
                           },
                           [this](const run_do::start&) {
                               state.stages.enter(run_stage::setup, clock().now());
                               state.site->start();
                           },
                           [this](const run_do::announce_prepared&) {
                               state.setup.services->watch->run_prepared(*state.setup.order);
                           },
                           [this](const run_do::cancel& c) { state.site->cancel(c.reason); },
                           [this](const run_do::kill&) { state.site->kill(); },
                           [this](const run_do::remove&) { state.site->remove(); },
                           [this](const run_do::append& a) {
                               say_spending(a.body);
                               tell(state.setup.record->add_own(a.body, now()));
                           },
                           [this](const run_do::record&) {
                               state.stages.enter(run_stage::teardown, clock().now());
                               write();
                           },
                           [this](const run_do::set_deadline& d) {
                               in_force(d.kind) = ++state.deadline_generation;
                               if (state.setup.deadlines->set(state.setup.who, d.kind, in_force(d.kind),
                                                              clock().now() + d.after)) {
                                   send(state.setup.node, arm_deadlines{});
                               }
                           },
                           [this](const run_do::clear_deadline& d) {
                               in_force(d.kind) = ++state.deadline_generation;
                               state.setup.deadlines->clear(state.setup.who, d.kind);
                           },
                           [this](const run_do::report& r) { report(r); },
                       },
                       command);
        }
    }

    void write() {
        const auto& order = *state.setup.order;
        send(state.setup.services->transcripts,
             write_transcript{state.setup.who, transcript_job(order, state.setup.record),
                              transcript_client(run_actor(this))});
    }

    void report(const run_do::report& r) {
        const auto& record = *state.setup.record;
        auto what = std::make_shared<run_result>();
        what->order = state.setup.order;
        what->how = r.result;
        if (record.first_time()) {
            what->duration = std::chrono::duration_cast<milliseconds>(record.last_time() - *record.first_time());
        }
        what->took = state.stages.finish(clock().now());
        what->has_transcript = state.has_transcript;
        what->remark = r.remark;
        add_figures(*what, record);
        send(state.setup.node, run_reported{state.setup.who, std::move(what)});
        quit();
    }
};

} // namespace

run_actor spawn_run(caf::local_actor* owner, run_setup setup) {
    return owner->system().spawn<run_impl>(std::move(setup));
}

} // namespace chalk::actors
