#include "actors/sweep/control_desk.hpp"
#include "actors/sweep/interfaces.hpp"
#include "actors/sweep/journal_side.hpp"
#include "actors/sweep/requeue.hpp"
#include "actors/sweep/sweep_records.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace chalk::actors {

namespace {

/// With the host, or on its way there.
struct out_run {
    order_ptr order;
    bool recorded = false; ///< its start is in the journal, or being written
};

struct sweep_state {
    std::optional<sweep_settings> settings;
    std::optional<schedule> plan;
    std::optional<spending_book> budget;
    std::optional<journal_side> journal;
    std::optional<control_desk> desk;
    run_host host;         ///< the node, or the cluster
    cluster_actor cluster; ///< the same; null on one machine
    std::map<run_key, out_run> out;
    /// Handed out by the schedule, held back until what others were promised is free again.
    std::optional<schedule::assignment> unaffordable;
    std::unordered_set<std::uint64_t> described;          ///< cells of this session
    std::optional<schedule::clock::time_point> timer_due; ///< of the timer that comes first
    bool node_short = false;                              ///< as it was last said
    bool cluster_closing = false;
    bool cluster_over = false; ///< its nodes have given up their leases, or were waited for long enough
    bool sealing = false;
    bool stop_said = false;
    bool cancelled = false;
    bool ending = false;

    sweep_state() = default;
    sweep_state(const sweep_state&) = delete;
    sweep_state& operator=(const sweep_state&) = delete;
    /// Whatever the sweep dies of, its node or cluster goes too: it and its runs hold each other.
    ~sweep_state() {
        if (host) {
            caf::anon_send_exit(host, caf::exit_reason::user_shutdown);
        }
    }
};

using sweep_base = sweep_actor::stateful_base<sweep_state>;

class sweep_impl final : public sweep_base {
  public:
    sweep_impl(caf::actor_config& config, sweep_settings settings) : sweep_base(config) {
        state.plan.emplace(std::move(*settings.plan));
        state.budget.emplace(settings.budget, settings.spent_before);
        state.desk.emplace(settings.journal ? settings.journal->node : "local", settings.window,
                           settings.node.max_runs);
        state.journal.emplace(this, std::move(settings.journal),
                              [this](const std::string& text) { watch().sweep_said(text); });
        state.settings.emplace(std::move(settings));
        set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    }

    behavior_type make_behavior() override {
        state.journal->open();
        start_host();
        if (state.settings->deadline) {
            delayed_send(this, *state.settings->deadline, sweep_deadline{});
        }
        go_on();
        return {
            [this](const run_finished& m) { on_finished(*m.what, m.node_was_short); },
            [this](const run_spent& m) { on_spent(m); },
            [this](const node_said& m) {
                state.node_short = m.is_short;
                watch().sweep_said(m.text);
            },
            [this](const run_placed& m) { on_placed(m); },
            [this](const runs_lost& m) {
                lose(m.orders, m.why);
                go_on();
            },
            [this](const record_entries& m) { on_entries(m); },
            [this](const find_assignment& m) { state.journal->find(m); },
            [this](const cluster_closed&) {
                state.cluster_over = true;
                go_on();
            },
            [this](const records_written& m) { on_written(m); },
            [this](const runs_looked_up& m) { on_looked_up(m); },
            [this](const assignment_found& m) { pass_on(m); },
            [this](const control_sweep& m) { on_control(m); },
            [this](const peer_came& m) { pass_on(m); },
            [this](const wake_sweep&) {
                state.timer_due.reset();
                state.journal->write_again();
                go_on();
            },
            [this](const sweep_deadline&) {
                end_early(fmt::format("the sweep's time is over (deadlines.sweep_s, {} s)",
                                      static_cast<double>(state.settings->deadline->count()) / 1000),
                          false);
            },
            [this](const cancel_sweep& m) { end_early(m.reason, false); },
            [this](const kill_sweep& m) { end_early(m.reason, true); },
        };
    }

  private:
    watcher& watch() { return *state.settings->node.services->watch; }
    const sweep_journal* journal_of() const { return state.journal->settings(); }
    std::uint64_t number(run_key run) const {
        return static_cast<std::uint64_t>(
            number_of(run, journal_of() != nullptr ? journal_of()->repeats : 1'000'000'000));
    }

    template<class Message>
    void pass_on(const Message& what) {
        if (state.cluster) {
            send(state.cluster, what);
        }
    }

    void start_host() {
        state.node_short = false; // it will say so
        if (state.settings->cluster) {
            start_cluster();
        } else {
            state.host = spawn_node(this, state.settings->node, run_listener(sweep_actor(this)));
            monitor(state.host);
        }
    }

    void start_cluster() {
        auto settings = std::move(*state.settings->cluster);
        settings.run_number = [repeats = journal_of()->repeats](run_key run) { return number_of(run, repeats); };
        std::vector<order_ptr> adopted;
        for (const auto& open : settings.open) {
            auto order = state.settings->make_order(open.name.run, open.name.attempt);
            // It was granted once. Should budgets be smaller now, the next run finds out.
            static_cast<void>(state.budget->reserve(number(open.name.run), reservation_of(*order)));
            state.out.emplace(open.name.run, out_run{order, true});
            adopted.push_back(std::move(order));
        }
        auto made = spawn_cluster(this, std::move(settings), std::move(adopted), cluster_listener(sweep_actor(this)));
        if (!made) {
            give_up(made.error());
            return;
        }
        state.cluster = *made;
        state.host = *made;
        monitor(state.host);
        if (state.settings->node.max_runs) {
            send(state.host, set_max_runs{state.settings->node.max_runs});
        }
    }

    /// Does all that can be done now: starts runs, writes, tells, and ends the sweep when nothing is left.
    void go_on() {
        hand_out();
        say_decisions();
        if (state.plan->sealed() && !std::exchange(state.sealing, true)) {
            watch().sweep_said("the sweep is sealed: the runs that are still under way are cut off");
            send(state.host, cut_off_runs{timeout_failure("cut off: the sweep had enough runs (seal_at)")});
        }
        record_passed_over();
        if (state.plan->complete() && !state.unaffordable && !state.ending &&
            (state.cancelled || !state.plan->has_passed_over()) && hosts_ended()) {
            end(std::nullopt);
        }
        state.journal->write();
        arm_timer();
    }

    /// A node of this machine ends with its sweep; other nodes are told first, so that the journal has their leases'
    /// ends.
    bool hosts_ended() {
        if (!state.cluster) {
            return true;
        }
        if (!std::exchange(state.cluster_closing, true)) {
            send(state.cluster, close_cluster{});
        }
        return state.cluster_over;
    }

    /// So many at a time: the next ones when these are written.
    void record_passed_over() {
        constexpr std::size_t most = 4096;
        const auto* journal = journal_of();
        while (journal == nullptr && state.plan->has_passed_over()) {
            static_cast<void>(state.plan->take_passed_over(most));
        }
        if (journal != nullptr && !state.journal->under_way() && !state.ending) {
            for (const run_key run : state.plan->take_passed_over(most)) {
                state.journal->add(journal::run_closed_without_attempt{
                    number_of(run, journal->repeats), std::chrono::system_clock::now(), journal::closing::first_pass,
                    "another run of its cell passed (stop.first_pass)", std::nullopt});
            }
        }
    }

    void hand_out() {
        const bool held = !state.desk->lets_start() || state.journal->blocked() || state.ending;
        while (!held && state.out.size() < state.desk->window()) {
            auto what = std::exchange(state.unaffordable, std::nullopt);
            if (!what) {
                what = state.plan->next(clock().now());
            }
            if (!what || !start(*what)) {
                return;
            }
        }
    }

    /// False when nothing more should be started now.
    bool start(const schedule::assignment& what) {
        auto order = state.settings->make_order(what.run, attempt_number{what.attempt});
        const amount wanted = reservation_of(*order);
        switch (state.budget->reserve(number(what.run), wanted)) {
        case spending_book::answer::granted:
            break;
        case spending_book::answer::wait:
            state.unaffordable = what;
            return false;
        case spending_book::answer::never:
            state.plan->stop(
                fmt::format("the budget is spent: {} tokens and {:.4f} USD of it, and the next run may take "
                            "{} tokens and {:.4f} USD",
                            state.budget->spent().tokens, state.budget->spent().usd, wanted.tokens, wanted.usd));
            state.plan->put_back(what);
            return false;
        }
        if (state.cluster && order->refused) {
            refuse_here(order);
        } else if (state.cluster) {
            state.out.emplace(what.run, out_run{order, false});
            send(state.cluster, place_run{std::move(order)});
        } else {
            record_start(order, journal_of() != nullptr ? journal_of()->node : std::string(), {});
        }
        return true;
    }

    /// Its host hears of it when its start is durable.
    void record_start(const order_ptr& order, const std::string& node, journal::assignment_token token) {
        if (const auto* journal = journal_of()) {
            if (!journal->described(order->key.cell) && state.described.insert(order->key.cell).second) {
                state.journal->add(journal->describe(order->key.cell));
            }
            state.journal->add(started_record(*order, *journal, reservation_of(*order), node, token));
        }
        state.out.insert_or_assign(order->key, out_run{order, true});
        state.journal->then([this, order] {
            if (is_out(order)) { // else its node was lost meanwhile
                send(state.host, start_run{order});
            }
        });
    }

    /// It cannot even begin, and no node is asked to find that out.
    void refuse_here(const order_ptr& order) {
        record_start(order, journal_of()->node, {});
        auto what = std::make_shared<run_result>();
        what->order = order;
        what->how = outcome::error(*order->refused);
        send(sweep_actor(this), run_finished{std::move(what)});
    }

    bool is_out(const order_ptr& order) const {
        const auto found = state.out.find(order->key);
        return found != state.out.end() && found->second.order == order;
    }

    void on_placed(const run_placed& m) {
        if (is_out(m.order)) {
            record_start(m.order, m.node.str(), {m.token.epoch, m.token.count});
            state.journal->write();
        }
    }

    void on_finished(const run_result& what, bool node_was_short) {
        const run_key run = what.order->key;
        if (what.withdrawn) {
            take_back(what);
            return;
        }
        const bool cut_off = state.sealing;
        const auto said = state.plan->finished(run, what.how, what.score, clock().now(), node_was_short);
        if (said == schedule::verdict::unknown) {
            return;
        }
        state.out.erase(run);
        settle(what, verdict_of(said, cut_off && what.how.kind == error_class::timeout));
        const bool again = said == schedule::verdict::retried || said == schedule::verdict::forgiven;
        state.journal->then([this, what, again, counts = state.plan->counts()] {
            if (state.cluster) {
                send(state.cluster, outcome_recorded{what.order, !again});
            }
            if (again) {
                watch().attempt_finished(what, counts);
            } else {
                watch().run_finished(what, counts);
            }
        });
        go_on();
    }

    /// It was handed to the host, and never began.
    void take_back(const run_result& what) {
        const run_key run = what.order->key;
        if (!is_out(what.order)) {
            return;
        }
        const bool recorded = state.out.extract(run).mapped().recorded;
        state.plan->put_back({run, static_cast<std::uint32_t>(what.order->attempt)}, recorded);
        if (recorded) {
            settle(what, journal::verdict::lost);
        } else {
            state.budget->settle(number(run), {});
        }
        go_on();
    }

    void settle(const run_result& what, journal::verdict means) {
        const auto charged = journal::charge_of(what.spent);
        state.budget->settle(number(what.order->key), {charged.tokens, charged.usd});
        if (const auto* journal = journal_of()) {
            state.journal->add(ended_record(what, *journal, means));
        }
    }

    void on_spent(const run_spent& m) {
        const auto* journal = journal_of();
        const auto found = state.out.find(m.run);
        if (journal != nullptr && found != state.out.end() && found->second.order->attempt == m.attempt) {
            state.journal->add(journal::spending_noted{number_of(m.run, journal->repeats), m.attempt, m.spent});
            state.journal->write();
        }
    }

    void say_decisions() {
        if (state.plan->take_closed()) {
            send(state.host, withdraw_runs{});
        }
        for (const auto& notice : state.plan->take_notices()) {
            watch().sweep_said(notice);
        }
        if (state.plan->stopped() && !std::exchange(state.stop_said, true)) {
            watch().sweep_said(fmt::format("nothing more is started: {}", *state.plan->stopped()));
            send(state.host, withdraw_runs{});
        }
    }

    // The journal.

    void on_entries(const record_entries& m) {
        for (const auto& entry : m.records) {
            state.journal->add(entry);
        }
        state.journal->then([this, tag = m.tag] { send(state.cluster, entries_recorded{tag}); });
        state.journal->write();
    }

    void on_written(const records_written& m) {
        if (auto how = state.journal->written(m, !state.cancelled); !how) {
            give_up(how.error());
        } else if (state.journal->blocked()) {
            arm_timer();
        } else {
            go_on();
        }
    }

    /// What the journal does not have is run again by a resume.
    void give_up(const failure& why) {
        state.ending = true;
        if (state.host) {
            send(state.host, kill_runs{"the sweep's journal failed"});
        }
        finish(failure{why.kind, why.message + "; what it has not recorded will be run again by `chalk sweep resume`"});
    }

    /// A CAF timer cannot be taken back: another one is started only when it is to come earlier.
    void arm_timer() {
        const auto now = clock().now();
        std::optional<schedule::clock::time_point> due;
        if (state.journal->blocked()) {
            due = now + journal_side::retried_after;
        } else if (state.out.size() < state.desk->window()) {
            due = state.plan->next_retry();
        }
        if (!due || state.ending || (state.timer_due && *state.timer_due <= *due)) {
            return;
        }
        state.timer_due = due;
        delayed_send(this, std::max<schedule::clock::duration>(*due - now, std::chrono::milliseconds(1)), wake_sweep{});
    }

    // Control.

    void end_early(const std::string& reason, bool at_once) {
        state.cancelled = true;
        if (auto held = std::exchange(state.unaffordable, std::nullopt)) {
            state.plan->put_back(*held);
        }
        state.plan->stop(reason);
        state.stop_said = true;
        if (at_once) {
            send(state.host, kill_runs{reason});
        } else {
            send(state.host, cancel_runs{reason});
        }
        go_on();
    }

    void on_control(const control_sweep& m) {
        std::visit(overloaded{
                       [&](const control::pause&) {
                           const auto said = state.desk->pause();
                           send(state.host, withdraw_runs{});
                           m.answer(said);
                       },
                       [&](const control::resume&) { m.answer(state.desk->resume()); },
                       [&](const control::cancel& c) {
                           m.answer(fmt::format("cancelled: {} runs under way end now", state.out.size()));
                           end_early(c.reason, false);
                       },
                       [&](const control::concurrency& c) {
                           const auto said = state.desk->limit(c.runs);
                           if (said) {
                               send(state.host, set_max_runs{c.runs});
                           }
                           m.answer(said);
                       },
                       [&](const control::requeue& c) { ask_for_requeue(c, m.answer); },
                       [&](const control::drain& c) {
                           if (state.cluster) {
                               send(state.cluster, drain_node{c.node, m.answer});
                               return;
                           }
                           const auto said = state.desk->drain(c.node);
                           if (said) {
                               send(state.host, withdraw_runs{});
                           }
                           m.answer(said);
                       },
                       [&](const control::look&) { m.answer(state.desk->look(view())); },
                       [&](const control::nodes&) {
                           if (state.cluster) {
                               send(state.cluster, look_at_cluster{m.answer});
                           } else {
                               m.answer(config_failure("this sweep has no cluster: its runs are this machine's"));
                           }
                       },
                   },
                   m.what);
        go_on();
    }

    sweep_view view() const {
        sweep_view now;
        now.ending = state.ending;
        now.stopping = state.plan->stopped().has_value();
        now.journal_blocked = state.journal->blocked();
        now.node_short = state.node_short;
        now.budget_held = state.unaffordable.has_value();
        now.under_way = state.out.size();
        now.counts = state.plan->counts();
        now.spent = state.budget->spent();
        return now;
    }

    void ask_for_requeue(const control::requeue& what, const std::function<void(result<std::string>)>& answer) {
        if (journal_of() == nullptr || state.ending) {
            answer(config_failure("this sweep takes no runs back"));
            return;
        }
        state.journal->look_up(what.runs, answer);
    }

    void on_looked_up(const runs_looked_up& m) {
        const auto answer = state.journal->take_lookup();
        if (!answer) {
            return;
        }
        const auto wanted =
            m.how ? runs_to_requeue(*m.how, journal_of()->repeats) : result<std::vector<requeued_run>>(m.how.error());
        if (!wanted) {
            answer(wanted.error());
            return;
        }
        std::size_t taken = 0;
        for (const auto& one : *wanted) {
            if (state.plan->requeue(one.run, one.last_attempt, one.how, one.score)) {
                state.journal->add(journal::run_requeued{one.number, std::chrono::system_clock::now(), "by hand"});
                ++taken;
            }
        }
        answer(fmt::format("{} runs are queued again", taken));
        go_on();
    }

    // Deaths.

    void on_down(const caf::down_msg& down) {
        if (down.source == state.host.address()) {
            on_host_down(down);
        } else if (state.journal->is(down.source)) {
            on_journal_down(down);
        }
    }

    void on_journal_down(const caf::down_msg& down) {
        if (state.ending && state.journal->idle()) {
            return;
        }
        if (auto another = state.journal->died(down.reason); !another) {
            give_up(another.error());
        }
    }

    /// No attempt is charged.
    void lose(const std::vector<order_ptr>& orders, const std::string& why) {
        for (const auto& order : orders) {
            if (!is_out(order)) {
                continue;
            }
            const bool recorded = state.out.extract(order->key).mapped().recorded;
            run_result what;
            what.order = order;
            what.how = outcome::error(error_class::node_lost, why);
            const auto after = state.plan->lost(order->key, clock().now());
            if (recorded) {
                settle(what,
                       after == schedule::after_loss::give_up ? journal::verdict::counts : journal::verdict::lost);
            } else {
                state.budget->settle(number(order->key), {});
            }
            if (after == schedule::after_loss::give_up) {
                state.journal->then([this, what, counts = state.plan->counts()] {
                    if (state.cluster) {
                        send(state.cluster, outcome_recorded{what.order, true});
                    }
                    watch().run_finished(what, counts);
                });
            }
        }
    }

    void on_host_down(const caf::down_msg& down) {
        if (state.cluster) {
            give_up(harness_failure("the cluster's actor died: " + system().render(down.reason)));
        } else {
            on_node_down(down);
        }
    }

    /// Every run that was out is lost with the node; its sandbox dies with its actor.
    void on_node_down(const caf::down_msg& down) {
        const std::string why = fmt::format("its node was lost: {}", system().render(down.reason));
        const bool again = state.settings->node_restarts.allow(clock().now());
        std::vector<order_ptr> orders;
        for (const auto& [run, out] : state.out) {
            orders.push_back(out.order);
        }
        lose(orders, why);
        if (!again) {
            state.plan->stop("the node failed too often: " + why);
            end(failure{error_class::node_lost, "the node failed too often: " + why});
            state.journal->write();
            return;
        }
        start_host();
        go_on();
    }

    // The end.

    void end(const std::optional<failure>& trouble) {
        state.ending = true;
        if (journal_of() != nullptr) {
            const auto& counts = state.plan->counts();
            const auto broken =
                fmt::format("{} runs were not started: the breakers of their cells opened", counts.broken);
            state.journal->add(journal::sweep_ended{std::chrono::system_clock::now(),
                                                    counts.ended() + counts.skipped - counts.broken == counts.total &&
                                                        !state.plan->has_passed_over(),
                                                    state.plan->stopped().value_or(counts.broken > 0 ? broken : "")});
        }
        state.journal->then([this, trouble] { finish(trouble); });
    }

    void finish(const std::optional<failure>& trouble) {
        if (state.host) { // else the cluster could not be opened from the journal
            demonitor(state.host.address());
            send_exit(state.host, caf::exit_reason::user_shutdown);
        }
        state.journal->close();
        watch().sweep_finished(state.plan->counts(), trouble);
        quit();
    }
};

} // namespace

sweep_actor spawn_sweep(caf::actor_system& system, sweep_settings settings) {
    return system.spawn<sweep_impl>(std::move(settings));
}

} // namespace chalk::actors
