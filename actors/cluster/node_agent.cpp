#include "actors/cluster/node_agent.hpp"

#include "actors/cluster/lease_file.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace chalk::actors {

namespace {

namespace does = member_decision;

constexpr std::chrono::seconds kept_again_after{5};
/// A suspended machine's timers come late: the node looks at its clock so often while it holds a lease.
constexpr milliseconds looked_every{1'000};

using kept_batch = std::shared_ptr<const std::vector<result_spool::entry>>;

/// The lease that is to be found by the next process, for the pool.
struct lease_note {
    std::mutex mutex; ///< of the number
    lease_number number;
    std::mutex writing;
};

struct node_agent_state {
    std::optional<node_agent_settings> settings;
    std::optional<node_member> member;
    node_actor node;
    /// Given to the node actor and not ended. Sorted by run and attempt; of one attempt there may be two, one of which
    /// was dropped.
    std::map<assignment_name, order_ptr> orders;

    std::map<link_number, caf::node_id> links; ///< all that stand
    std::optional<link_number> link;           ///< the coordinator's
    coordinator_port coordinator;
    std::shared_ptr<const std::string> sweep_sheet = std::make_shared<const std::string>();

    std::vector<result_spool::entry> to_keep;
    kept_batch being_kept;
    bool keep_failed = false;
    std::vector<assignment_name> to_remove;
    bool removing = false;
    bool leaving = false;
    std::string sheet_in_hand; ///< of the result whose files have landed just now

    std::shared_ptr<lease_note> note = std::make_shared<lease_note>();
    std::optional<node_time> timer_due;
    std::int64_t timer_number = 0;

    node_agent_state() = default;
    node_agent_state(const node_agent_state&) = delete;
    node_agent_state& operator=(const node_agent_state&) = delete;
    /// Whatever the agent dies of, its node goes too: they hold each other.
    ~node_agent_state() {
        if (node) {
            caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
        }
    }
};

using node_agent_base = node_agent::stateful_base<node_agent_state>;

class node_agent_impl final : public node_agent_base {
  public:
    node_agent_impl(caf::actor_config& config, node_agent_settings settings) : node_agent_base(config) {
        state.member.emplace(settings.rules, settings.found, std::exchange(settings.kept, {}));
        state.settings.emplace(std::move(settings));
        set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    }

    behavior_type make_behavior() override {
        start_node();
        supply().want_link();
        return {
            // From the coordinator.
            [this](const call_in&) { on_call(); },
            [this](const join_refused& m) {
                if (is_coordinators()) {
                    supply().say("the coordinator does not let this node in: " + m.why);
                    decide([](node_member& member, node_time) { member.refused(); });
                }
            },
            [this](const lease_granted& m) {
                heard([&](node_member& member, node_time now) { member.granted(m.number, m.length, m.asked, now); });
            },
            [this](const lease_renewed& m) {
                heard([&](node_member& member, node_time now) { member.renewed(m.number, m.length, m.asked, now); });
            },
            [this](const lease_over& m) {
                heard([&](node_member& member, node_time now) { member.over(m.number, now); });
            },
            [this](sweep_described& m) {
                if (is_coordinators()) {
                    state.sweep_sheet = std::make_shared<const std::string>(std::move(m.sheet));
                }
            },
            [this](run_assigned& m) {
                heard([&](node_member& member, node_time now) { member.assigned(m.name, std::move(m.sheet), now); });
            },
            [this](const run_dropped& m) {
                heard([&](node_member& member, node_time now) { member.dropped(m.name, now); });
            },
            [this](const result_taken& m) {
                heard([&](node_member& member, node_time now) { member.taken(m.name, now); });
            },
            [this](const probe_wanted&) { on_probe_wanted(); },
            [this](const runs_cancelled& m) { on_cancelled(m); },
            [this](const runs_cut_off& m) { on_cut_off(m); },
            [this](const runs_withdrawn&) { on_withdrawn(); },
            [this](const sweep_over&) { heard([](node_member& member, node_time now) { member.sweep_over(now); }); },
            // From the links.
            [this](const peer_linked& m) { on_linked(m); },
            [this](const link_failed& m) {
                supply().say(fmt::format("no link with {}: {}", m.peer, m.why.message));
                want_link();
            },
            [this](const link_lost& m) { on_link_lost(m); },
            // From the node actor.
            [this](const run_finished& m) { on_finished(m); },
            [this](const run_spent& m) { on_spent(m); },
            [this](const node_said& m) {
                supply().say(m.text);
                tell(node_told{bounded_word(m.text), m.is_short});
            },
            // From the supply and the pool.
            [this](const order_made& m) { on_made(m); },
            [this](const results_kept& m) { on_kept(m); },
            [this](const results_removed& m) { on_removed(m); },
            [this](files_landed& m) { on_landed(m); },
            [this](const probe_ended& m) {
                tell(node_probed{!m.trouble, bounded_word(m.trouble.value_or(std::string{}))});
            },
            [this](const tell_digest& m) {
                tell(digest_changed{m.digest, m.holds});
            },
            [this](const quit_cluster&) { decide([](node_member& member, node_time now) { member.quit(now); }); },
            [this](const agent_due& m) { on_timer(m); },
            [this](const keep_again&) {
                state.keep_failed = false;
                keep_next();
            },
        };
    }

  private:
    node_supply& supply() { return *state.settings->supply; }
    [[nodiscard]] node_time now() const { return state.settings->now(); }

    /// Asks the member, and does what it decided.
    template<class Question>
    void decide(Question ask) {
        ask(*state.member, now());
        carry_out();
    }
    /// Likewise, for what the present coordinator alone may say.
    template<class Question>
    void heard(Question ask) {
        if (is_coordinators()) {
            decide(std::move(ask));
        }
    }
    [[nodiscard]] bool is_coordinators() {
        const auto& from = current_sender();
        return state.coordinator && from && from->node() == state.coordinator.node();
    }
    template<class Message>
    void tell(Message what) {
        if (state.coordinator) {
            send(state.coordinator, std::move(what));
        }
    }

    void carry_out() {
        for (auto decisions = state.member->take_decisions(); !decisions.empty();
             decisions = state.member->take_decisions()) {
            for (auto& one : decisions) {
                std::visit(overloaded{
                               [this](const does::say_hello& d) { say_hello(d); },
                               [this](const does::say_renewal& d) {
                                   tell(renew_lease{d.number, d.asked});
                               },
                               [this](const does::say_given_up& d) { tell(lease_given_up{d.number}); },
                               [this](does::say_kept& d) {
                                   tell(runs_kept{std::move(d.running), std::move(d.ended)});
                               },
                               [this](const does::say_ended& d) {
                                   tell(run_ended{d.name, std::exchange(state.sheet_in_hand, {})});
                               },
                               [this](does::make_run& d) { make_order(d); },
                               [this](const does::stop_runs& d) { send(state.node, kill_runs{d.why}); },
                               [this](const does::stop_run& d) { stop_run(d.name); },
                               [this](const does::land_files& d) { land(d.name); },
                               [this](const does::forget_run& d) { forget(d.name); },
                               [this](const does::move_lease& d) { supply().lease_moved(d.until); },
                               [this](const does::note_lease& d) { note_lease(d.number); },
                               [this](const does::say_word& d) {
                                   supply().say(d.text);
                                   tell(node_told{bounded_word(d.text), false});
                               },
                               [this](const does::cut_off_link& d) { state.settings->cut_link(*state.link, d.why); },
                               [this](const does::leave&) { leave(); },
                           },
                           one);
            }
        }
        arm_timer();
    }

    /// A CAF timer cannot be taken back: another one is started only when it is to come earlier.
    void arm_timer() {
        auto due = state.member->next_due();
        const auto present = now();
        if (state.member->live_lease()) {
            due = std::min(due.value_or(present + looked_every), present + looked_every);
        }
        if (!due || (state.timer_due && *state.timer_due <= *due)) {
            return;
        }
        state.timer_due = due;
        const auto wait = std::max<node_time::duration>(*due - present, std::chrono::milliseconds(1));
        delayed_send(this, wait, agent_due{++state.timer_number});
    }
    void on_timer(const agent_due& m) {
        if (m.number == state.timer_number) {
            state.timer_due.reset();
            decide([](node_member& member, node_time at) { member.tick(at); });
        }
    }

    // The link.

    void on_linked(const peer_linked& m) {
        state.links.emplace(m.number, m.process);
        if (m.root) {
            use_link(m.number, m.root);
        } // else it calls
    }

    void on_call() {
        const auto caller = current_sender();
        if (!caller) {
            return;
        }
        const auto found = std::find_if(state.links.begin(), state.links.end(),
                                        [&](const auto& one) { return one.second == caller->node(); });
        if (found != state.links.end()) {
            use_link(found->first, caller);
        }
    }

    void use_link(link_number number, const caf::strong_actor_ptr& root) {
        if (state.link && *state.link != number) {
            state.settings->cut_link(number, "this node has a coordinator already");
            return;
        }
        state.link = number;
        state.coordinator = caf::actor_cast<coordinator_port>(root);
        decide([](node_member& member, node_time at) { member.link_up(at); });
    }

    void on_link_lost(const link_lost& m) {
        state.links.erase(m.number);
        if (state.link == m.number) {
            state.link.reset();
            state.coordinator = nullptr;
            supply().say(fmt::format("the link with {} is lost: {}", m.peer, m.why));
            decide([](node_member& member, node_time at) { member.link_lost(at); });
        }
        want_link();
    }
    void want_link() {
        if (!state.link) {
            supply().want_link();
        }
    }

    void say_hello(const does::say_hello& d) {
        hello what{state.settings->name, supply().offer(), d.asked, d.held};
        if (const auto fits = check_hello(what); !fits) {
            supply().say("this node cannot join: " + fits.error().message);
            return;
        }
        tell(std::move(what));
    }

    /// One write at a time, each of the last number there is.
    void note_lease(lease_number number) {
        const std::lock_guard lock(state.note->mutex);
        state.note->number = number;
        pool().submit([file = state.settings->lease_file, note = state.note] {
            const std::lock_guard writing(note->writing);
            lease_number last;
            {
                const std::lock_guard reading(note->mutex);
                last = note->number;
            }
            // Of no account when it fails: the next process of this node then waits for the lease's end.
            static_cast<void>(write_lease_file(file, last));
        });
    }
    blocking_pool& pool() { return *state.settings->pool; }

    // Runs.

    void make_order(does::make_run& d) {
        pool().submit([self = node_agent(this), supply = state.settings->supply, spool = state.settings->spool,
                       sweep = state.sweep_sheet, name = d.name, sheet = std::move(d.sheet)] {
            const auto made = [self, name](result<order_ptr> order) {
                caf::anon_send(self, order_made{name, std::move(order)});
            };
            if (const auto begun = spool->begin(name); !begun) {
                made(begun.error());
            } else {
                supply->make_order(sweep, name, sheet, spool->folder_of(name), made);
            }
        });
    }

    void on_made(const order_made& m) {
        if (!m.order) {
            run_result what;
            what.how = outcome::error(m.order.error());
            over(m.name, what);
            return;
        }
        if (state.member->may_start(m.name, now())) {
            state.orders.emplace(m.name, *m.order);
            send(state.node, start_run{*m.order});
        }
        carry_out();
    }

    void on_finished(const run_finished& m) {
        const auto& order = m.what->order;
        const auto found = find(order->key, order->attempt, [&](const order_ptr& one) { return one == order; });
        if (found != state.orders.end()) {
            const auto name = found->first;
            state.orders.erase(found);
            auto what = *m.what;
            what.node_was_short = m.node_was_short;
            over(name, what);
        }
    }

    template<class Condition>
    std::map<assignment_name, order_ptr>::iterator find(run_key run, attempt_number attempt, Condition is_it) {
        auto it = state.orders.lower_bound(assignment_name{run, attempt, {}});
        while (it != state.orders.end() && it->first.run == run && it->first.attempt == attempt) {
            if (is_it(it->second)) {
                return it;
            }
            ++it;
        }
        return state.orders.end();
    }

    void on_spent(const run_spent& m) {
        const auto found = find(m.run, m.attempt, [](const order_ptr&) { return true; });
        if (found != state.orders.end()) {
            tell(run_noted{found->first, supply().spending_sheet(m.spent)});
        }
    }

    /// The attempt is over: its result goes to disk, unless it does not count.
    void over(const assignment_name& name, const run_result& what) {
        const bool cancelled = what.how.status == outcome_status::cancelled;
        if (state.member->ended(name, cancelled, now())) {
            state.to_keep.push_back({name, supply().result_sheet(what)});
            keep_next();
        }
        carry_out();
    }

    /// While a batch is being synced, the next one gathers.
    void keep_next() {
        if (state.being_kept || state.to_keep.empty() || state.keep_failed) {
            return;
        }
        state.being_kept = std::make_shared<const std::vector<result_spool::entry>>(std::exchange(state.to_keep, {}));
        pool().submit([self = node_agent(this), spool = state.settings->spool, batch = state.being_kept] {
            results_kept kept;
            kept.how = spool->keep(*batch);
            for (const auto& one : *batch) {
                kept.names.push_back(one.name);
            }
            caf::anon_send(self, std::move(kept));
        });
    }

    void on_kept(const results_kept& m) {
        const auto batch = std::exchange(state.being_kept, nullptr);
        for (std::size_t i = 0; i < m.how.size(); ++i) {
            if (m.how[i]) {
                state.member->kept(m.names[i], now());
            } else {
                if (!std::exchange(state.keep_failed, true)) {
                    const auto text = "results cannot be kept, and wait in memory: " + m.how[i].error().message;
                    supply().say(text);
                    tell(node_told{bounded_word(text), false});
                    delayed_send(this, kept_again_after, keep_again{});
                }
                state.to_keep.push_back((*batch)[i]);
            }
        }
        keep_next();
        carry_out();
    }

    void land(const assignment_name& name) {
        auto have_landed = [self = node_agent(this), pool = state.settings->pool, spool = state.settings->spool,
                            name](const result<void>& how) {
            if (!how) {
                caf::anon_send(self, files_landed{name, how.error()});
                return;
            }
            pool->submit([self, spool, name] { caf::anon_send(self, files_landed{name, spool->read(name)}); });
        };
        supply().land(name, state.settings->spool->folder_of(name), std::move(have_landed));
    }

    void on_landed(files_landed& m) {
        if (m.sheet) {
            state.sheet_in_hand = std::move(*m.sheet);
        }
        state.member->landed(m.name, m.sheet.has_value(), now());
        carry_out();
    }

    void forget(const assignment_name& name) {
        supply().forget(name);
        state.to_remove.push_back(name);
        remove_next();
    }

    void remove_next() {
        if (state.to_remove.empty() || std::exchange(state.removing, true)) {
            return;
        }
        pool().submit(
            [self = node_agent(this), spool = state.settings->spool, names = std::exchange(state.to_remove, {})] {
                results_removed removed;
                for (const auto& name : names) {
                    if (const auto gone = spool->remove(name); !gone && !removed.trouble) {
                        removed.trouble = gone.error();
                    }
                }
                caf::anon_send(self, std::move(removed));
            });
    }

    /// What could not be removed is offered again by the node's next process, and refused or taken once more.
    void on_removed(const results_removed& m) {
        state.removing = false;
        if (m.trouble) {
            supply().say(m.trouble->message);
        }
        remove_next();
        if (state.leaving && !state.removing) {
            end();
        }
    }

    void stop_run(const assignment_name& name) {
        if (const auto found = state.orders.find(name); found != state.orders.end()) {
            send(state.node, kill_one_run{found->second, "its coordinator has dropped it"});
        }
    }

    // What the coordinator wants of all runs.

    /// Those whose order is being made are not at the node actor yet.
    void end_being_made(const outcome& how, bool withdrawn = false) {
        for (const auto& name : state.member->being_made()) {
            run_result what;
            what.how = how;
            what.withdrawn = withdrawn;
            over(name, what);
        }
    }
    void on_cancelled(const runs_cancelled& m) {
        if (!is_coordinators()) {
            return;
        }
        end_being_made(outcome::cancelled(m.reason));
        if (m.at_once) {
            send(state.node, kill_runs{m.reason});
        } else {
            send(state.node, cancel_runs{m.reason});
        }
    }
    void on_cut_off(const runs_cut_off& m) {
        if (is_coordinators()) {
            end_being_made(outcome::error(timeout_failure(m.why)));
            send(state.node, cut_off_runs{timeout_failure(m.why)});
        }
    }
    void on_withdrawn() {
        if (is_coordinators()) {
            end_being_made(outcome::cancelled("withdrawn before it began"), true);
            send(state.node, withdraw_runs{});
        }
    }
    void on_probe_wanted() {
        if (is_coordinators()) {
            pool().submit([self = node_agent(this), supply = state.settings->supply] {
                caf::anon_send(self, probe_ended{supply->probe()});
            });
        }
    }

    // The node actor.

    void start_node() {
        state.node = spawn_node(this, state.settings->node, run_listener(node_agent(this)));
        monitor(state.node);
    }

    /// Every run that was on it is lost; its sandbox dies with its actor. No attempt is charged.
    void on_down(const caf::down_msg& down) {
        if (down.source != state.node.address()) {
            return;
        }
        const std::string why = fmt::format("its node was lost: {}", system().render(down.reason));
        const bool again = state.settings->node_restarts.allow(clock().now());
        for (const auto& [name, order] : std::exchange(state.orders, {})) {
            run_result what;
            what.order = order;
            what.how = outcome::error(error_class::node_lost, why);
            over(name, what);
        }
        start_node();
        if (!again) {
            supply().say("this node fails too often, and ends: " + why);
            decide([](node_member& member, node_time at) { member.quit(at); });
        }
    }

    /// What is to be removed is removed first: else the next process would offer it.
    void leave() {
        state.leaving = true;
        if (!state.removing) {
            end();
        }
    }
    void end() {
        demonitor(state.node.address());
        send_exit(state.node, caf::exit_reason::user_shutdown);
        supply().left();
        quit();
    }
};

} // namespace

node_agent spawn_node_agent(caf::actor_system& system, node_agent_settings settings) {
    return system.spawn<node_agent_impl>(std::move(settings));
}

} // namespace chalk::actors
