#include "actors/sweep/interfaces.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace chalk::actors {

namespace {

struct sweep_state {
    std::optional<sweep_settings> settings;
    std::optional<sweep_plan> plan;
    node_actor node;
    std::map<run_key, order_ptr> out;
};

using sweep_base = sweep_actor::stateful_base<sweep_state>;

class sweep_impl final : public sweep_base {
  public:
    sweep_impl(caf::actor_config& config, sweep_settings settings) : sweep_base(config) {
        state.plan.emplace(settings.cells, settings.runs_per_cell);
        state.settings.emplace(std::move(settings));
        set_down_handler([this](const caf::down_msg& down) { on_node_down(down); });
    }

    behavior_type make_behavior() override {
        start_node();
        hand_out();
        return {
            [this](const run_finished& m) { on_finished(*m.what); },
            [this](const cancel_sweep& m) {
                state.plan->stop();
                send(state.node, cancel_runs{m.reason});
                hand_out();
            },
            [this](const kill_sweep& m) {
                state.plan->stop();
                send(state.node, kill_runs{m.reason});
                hand_out();
            },
        };
    }

  private:
    watcher& watch() { return *state.settings->node.services->watch; }

    void start_node() {
        state.node = spawn_node(this, state.settings->node, run_listener(sweep_actor(this)));
        monitor(state.node);
    }

    /// Fills the window, and ends the sweep when nothing is left.
    void hand_out() {
        while (state.out.size() < state.settings->window) {
            const auto run = state.plan->next();
            if (!run) {
                break;
            }
            auto order = state.settings->make_order(*run, attempt_number{1});
            state.out.emplace(*run, order);
            send(state.node, start_run{std::move(order)});
        }
        if (state.plan->complete()) {
            end(std::nullopt);
        }
    }

    void on_finished(const run_result& what) {
        if (state.plan->finished(what.order->key, what.how.status, what.score)) {
            state.out.erase(what.order->key);
            watch().run_finished(what, state.plan->counts());
        }
        hand_out();
    }

    /// Every run that was out is lost with the node; its sandbox dies with its actor. No attempt is charged.
    void on_node_down(const caf::down_msg& down) {
        if (down.source != state.node.address()) {
            return;
        }
        const std::string why = fmt::format("its node was lost: {}", system().render(down.reason));
        const bool again = state.settings->node_restarts.allow(clock().now());
        if (!again) {
            state.plan->stop();
        }
        for (auto& [run, order] : std::exchange(state.out, {})) {
            if (state.plan->lost(run) == sweep_plan::after_loss::give_up) {
                run_result what;
                what.order = order;
                what.how = outcome::error(error_class::node_lost, why);
                watch().run_finished(what, state.plan->counts());
            }
        }
        if (!again) {
            end(failure{error_class::node_lost, "the node failed too often: " + why});
            return;
        }
        start_node();
        hand_out();
    }

    void end(const std::optional<failure>& trouble) {
        demonitor(state.node.address());
        send_exit(state.node, caf::exit_reason::user_shutdown);
        watch().sweep_finished(state.plan->counts(), trouble);
        quit();
    }
};

} // namespace

sweep_actor spawn_sweep(caf::actor_system& system, sweep_settings settings) {
    return system.spawn<sweep_impl>(std::move(settings));
}

} // namespace chalk::actors
