#include "actors/cluster/cluster_actor.hpp"

#include "actors/cluster/links.hpp"
#include "actors/cluster/result_sheet.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <unordered_map>

namespace chalk::actors {

coordinator_time cluster_settings::read_boot_time() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return coordinator_time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

namespace {

/// A process behind a link that stands.
struct linked_process {
    link_number link{};
    std::string peer; ///< the name in its certificate
};

/// A node that was let in, or is about to be.
struct linked_node {
    node_port port;
    caf::node_id process;
    lease_clock::question asked{}; ///< its hello's
    bool told = false;             ///< of its lease, over this link: what comes before would make no sense to it
};

/// A result on its way.
struct came_result {
    node_id from;
    std::shared_ptr<run_result> what;
};

using attempt_key = std::pair<run_key, attempt_number>;

attempt_key key_of(const run_order& order) {
    return {order.key, order.attempt};
}

attempt_key key_of(const assignment_name& name) {
    return {name.run, name.attempt};
}

struct cluster_state {
    std::optional<cluster_settings> settings;
    cluster_listener sweep;
    std::optional<coordinator> book;
    std::optional<links> network;
    std::unordered_map<caf::node_id, linked_process> processes;
    std::map<link_number, std::function<void()>> on_link_end;
    std::map<node_id, linked_node> nodes;
    std::map<attempt_key, order_ptr> orders;       ///< of attempts that were asked for and whose end is not durable
    std::map<attempt_key, assignment_name> names;  ///< of those that are placed
    std::map<assignment_name, came_result> asked;  ///< until the journal has said what it has of them
    std::map<assignment_name, node_id> to_release; ///< results that count, on their way to the journal
    std::map<std::uint64_t, std::function<void()>> effects; ///< by tag of what is being journalled
    std::uint64_t last_tag = 0;
    std::optional<coordinator_time> close_by;
    std::optional<coordinator_time> said_obstacle;
    bool closed = false;
    bool quiet = false; ///< runs are cancelled: nothing new is placed
};

using cluster_base = cluster_actor::stateful_base<cluster_state>;

constexpr std::chrono::seconds obstacle_said_every{30};

class cluster_impl final : public cluster_base {
  public:
    cluster_impl(caf::actor_config& config, cluster_settings settings, coordinator book,
                 const std::vector<order_ptr>& adopted, cluster_listener sweep)
        : cluster_base(config) {
        state.sweep = std::move(sweep);
        state.book.emplace(std::move(book));
        for (std::size_t i = 0; i < adopted.size(); ++i) {
            const auto& name = settings.open[i].name;
            state.orders.emplace(key_of(name), adopted[i]);
            state.names.emplace(key_of(name), name);
            expect_files(settings, *adopted[i], name);
        }
        state.settings.emplace(std::move(settings));
    }

    behavior_type make_behavior() override {
        if (state.settings->library != nullptr) {
            state.network.emplace(system(), *state.settings->library, link_owner(cluster_actor(this)));
            state.network->publish(coordinator_port(cluster_actor(this)));
        }
        delayed_send(this, state.book->tick_every(), tick_cluster{});
        return {
            [this](const place_run& m) { on_wanted(m.order); },
            [this](const start_run& m) { on_started(m.order); },
            [this](const cancel_runs& m) {
                end_all({bounded_word(m.reason), false});
            },
            [this](const kill_runs& m) {
                end_all({bounded_word(m.reason), true});
            },
            [this](const cut_off_runs& m) {
                withdraw_waiting();
                tell_all(runs_cut_off{bounded_word(m.why.message)});
            },
            [this](const withdraw_runs&) {
                withdraw_waiting();
                tell_all(runs_withdrawn{});
            },
            [this](const set_max_runs& m) {
                state.book->set_max_runs(m.runs);
                carry_out();
            },
            [this](const outcome_recorded& m) { on_recorded(m); },
            [this](const entries_recorded& m) {
                if (auto effect = state.effects.extract(m.tag)) {
                    effect.mapped()();
                    carry_out();
                }
            },
            [this](const assignment_found& m) { on_found(m); },
            [this](const close_cluster&) { close(); },
            [this](const drain_node& m) { m.answer(drain(m.node)); },
            [this](const look_at_cluster& m) { m.answer(look()); },
            [this](const peer_came& m) {
                if (!state.network) {
                    return;
                }
                const auto number = m.dialled ? state.network->connect<node_port>(m.peer, std::move(*m.socket))
                                              : state.network->adopt(m.peer, std::move(*m.socket));
                if (m.ended) {
                    state.on_link_end.emplace(number, m.ended);
                }
            },
            [this](const peer_linked& m) {
                state.processes.insert_or_assign(m.process, linked_process{m.number, m.peer});
                if (m.root) {
                    send(caf::actor_cast<node_port>(m.root), call_in{});
                }
            },
            [this](const link_failed& m) {
                said(m.why.message);
                link_ended(m.number);
            },
            [this](const link_lost& m) { on_link_lost(m); },
            [this](const hello& m) { on_hello(m); },
            [this](const renew_lease& m) { on_renew(m); },
            [this](const lease_given_up& m) {
                if (const auto node = sender_node()) {
                    state.book->gave_up(*node, m.number);
                    state.nodes.erase(*node);
                    carry_out();
                }
            },
            [this](const runs_kept& m) {
                if (const auto node = sender_node()) {
                    state.book->node_has(*node, m.running, m.ended);
                    carry_out();
                }
            },
            [this](const run_ended& m) { on_ended(m); },
            [this](const run_noted& m) { on_noted(m); },
            [this](const node_told& m) {
                if (const auto node = sender_node()) {
                    said(fmt::format("node {}: {}", node->str(), m.text));
                }
            },
            [this](const digest_changed& m) {
                if (const auto node = sender_node()) {
                    state.book->digest_changed(*node, m.digest, m.holds);
                    carry_out();
                }
            },
            [this](const node_probed& m) {
                if (const auto node = sender_node()) {
                    if (!m.passed) {
                        said(fmt::format("node {} stays in quarantine, its probe failed: {}", node->str(), m.text));
                    }
                    state.book->probed(*node, m.passed, now());
                    carry_out();
                }
            },
            [this](const tick_cluster&) { on_tick(); },
        };
    }

  private:
    coordinator_time now() const { return state.settings->now(); }
    void said(std::string text) { send(state.sweep, node_said{std::move(text), false}); }

    /// The node whose message this is: it was let in, over a link that is still its own.
    std::optional<node_id> sender_node() {
        const auto& from = current_sender();
        if (from == nullptr) {
            return std::nullopt;
        }
        const auto known = state.processes.find(from->node());
        if (known == state.processes.end()) {
            return std::nullopt;
        }
        auto id = node_id::parse(known->second.peer);
        if (!id) {
            return std::nullopt;
        }
        const auto node = state.nodes.find(*id);
        return node != state.nodes.end() && node->second.process == from->node() ? std::optional(std::move(*id))
                                                                                 : std::nullopt;
    }

    linked_node* told_node(const node_id& id) {
        const auto found = state.nodes.find(id);
        return found != state.nodes.end() && found->second.told ? &found->second : nullptr;
    }

    template<class Message>
    void tell(const node_id& id, Message what) {
        if (const auto* node = told_node(id)) {
            send(node->port, std::move(what));
        }
    }

    template<class Message>
    void tell_all(const Message& what) {
        for (const auto& [id, node] : state.nodes) {
            tell(id, what);
        }
    }

    /// Does what the book has decided, in its order.
    void carry_out() {
        do {
            again_ = false;
            carry_out_once();
        } while (again_);
        finish_closing();
    }

    void carry_out_once() {
        std::vector<order_ptr> lost;
        std::string lost_with;
        for (auto& one : state.book->take_decisions()) {
            std::visit(overloaded{
                           [&](const decision::write_grant& d) { write_grant(d.what); },
                           [&](const decision::write_end& d) {
                               record({journal::lease_ended{d.what.node.str(), token_of(d.what.number),
                                                            state.settings->wall()}},
                                      [] {});
                           },
                           [&](const decision::welcome& d) { welcome(d.what); },
                           [&](const decision::place& d) { place(d); },
                           [&](const decision::send_run& d) { send_run(d); },
                           [&](const decision::drop_run& d) { tell(d.node, run_dropped{d.name}); },
                           [&](const decision::release_result& d) { tell(d.node, result_taken{d.name}); },
                           [&](const decision::lose_run& d) {
                               if (auto order = forget_run(d.name, late_files::taken)) {
                                   lost.push_back(std::move(order));
                                   lost_with = d.node.str();
                               }
                           },
                           [&](const decision::probe_node& d) { tell(d.node, probe_wanted{}); },
                           [&](decision::say& d) { said(std::move(d.text)); },
                       },
                       one);
        }
        if (!lost.empty()) {
            send(state.sweep, runs_lost{std::move(lost), fmt::format("its node {} was lost", lost_with)});
        }
    }

    void record(std::vector<journal::record> what, std::function<void()> effect) {
        const auto tag = ++state.last_tag;
        state.effects.emplace(tag, std::move(effect));
        send(state.sweep, record_entries{std::move(what), tag});
    }

    template<class Of>
    static journal::assignment_token token_of(const epoch_number<Of>& number) {
        return {number.epoch, number.count};
    }

    // Runs.

    void on_wanted(const order_ptr& order) {
        if (state.close_by || state.quiet) {
            withdrawn(order);
            return;
        }
        state.orders.insert_or_assign(key_of(*order), order);
        state.book->request(order->key, order->attempt, state.settings->needs(*order));
        carry_out();
    }

    static void expect_files(const cluster_settings& settings, const run_order& order, const assignment_name& name) {
        if (settings.places && order.transcript) {
            settings.places->expect(name.token, order.config.transcript_file.parent_path());
        }
    }

    void place(const decision::place& d) {
        const auto order = state.orders.find(key_of(d.name));
        if (order == state.orders.end()) {
            return;
        }
        state.names.insert_or_assign(key_of(d.name), d.name);
        expect_files(*state.settings, *order->second, d.name);
        send(state.sweep, run_placed{order->second, d.node, d.name.token});
    }

    void on_started(const order_ptr& order) {
        const auto name = state.names.find(key_of(*order));
        if (name != state.names.end()) {
            state.book->started(name->second);
            carry_out();
        }
    }

    void send_run(const decision::send_run& d) {
        const auto order = state.orders.find(key_of(d.name));
        if (order == state.orders.end()) {
            return;
        }
        auto sheet = state.settings->run_sheet(*order->second);
        if (sheet) {
            tell(d.node, run_assigned{d.name, std::move(*sheet)});
            return;
        }
        auto what = std::make_shared<run_result>();
        what->how = outcome::error(sheet.error());
        judge(d.name, {d.node, std::move(what)}, journalled_name::absent);
        again_ = true;
    }

    /// A lost attempt's node may come back with what it has done: that is kept in the attempt's own folder.
    enum class late_files { refused, taken };

    /// Null: it was not under way.
    order_ptr forget_run(const assignment_name& name, late_files late = late_files::refused) {
        const auto known = state.names.find(key_of(name));
        if (known == state.names.end() || known->second != name) {
            return nullptr;
        }
        state.names.erase(known);
        auto order = state.orders.extract(key_of(name));
        if (!order) {
            return nullptr;
        }
        if (late == late_files::refused) {
            close_place(name);
        }
        return std::move(order.mapped());
    }

    void close_place(const assignment_name& name) {
        if (state.settings->places) {
            state.settings->places->close(name.token);
        }
    }

    /// It has not begun, and nothing of it is journalled.
    void withdrawn(const order_ptr& order) {
        auto what = std::make_shared<run_result>();
        what->order = order;
        what->how = outcome::cancelled("withdrawn before it began");
        what->withdrawn = true;
        send(state.sweep, run_finished{std::move(what)});
    }

    void withdraw_waiting() {
        for (const auto& [run, attempt] : state.book->withdraw_waiting()) {
            if (auto order = state.orders.extract({run, attempt})) {
                withdrawn(order.mapped());
            }
        }
        carry_out();
    }

    void end_all(const runs_cancelled& how) {
        state.quiet = true;
        withdraw_waiting();
        tell_all(how);
    }

    void on_noted(const run_noted& m) {
        const auto order = state.orders.find(key_of(m.name));
        const auto name = state.names.find(key_of(m.name));
        if (!sender_node() || order == state.orders.end() || name == state.names.end() || name->second != m.name) {
            return;
        }
        if (auto spent = read_spending_sheet(m.spent)) {
            send(state.sweep, run_spent{m.name.run, m.name.attempt, std::move(*spent)});
        }
    }

    void on_ended(const run_ended& m) {
        const auto node = sender_node();
        if (!node) {
            return;
        }
        auto read = read_result_sheet(m.sheet, nullptr);
        auto what = std::make_shared<run_result>(read ? std::move(*read) : unreadable(*node, read.error()));
        came_result came{*node, std::move(what)};
        if (came.what->withdrawn) {
            give_back(m.name, came);
        } else if (state.book->must_ask(m.name)) {
            state.asked.insert_or_assign(m.name, std::move(came));
            send(state.sweep, find_assignment{m.name});
        } else {
            judge(m.name, std::move(came), journalled_name::absent);
        }
        carry_out();
    }

    static run_result unreadable(const node_id& node, const failure& why) {
        run_result what;
        what.how = outcome::error(error_class::harness, fmt::format("node {} has sent a result that cannot be read: {}",
                                                                    node.str(), why.message));
        return what;
    }

    void give_back(const assignment_name& name, const came_result& came) {
        if (state.book->given_back(name, came.from)) {
            if (const auto order = forget_run(name)) {
                came.what->order = order;
                send(state.sweep, run_finished{came.what});
            }
        }
        tell(came.from, result_taken{name});
    }

    void on_found(const assignment_found& m) {
        if (auto came = state.asked.extract(m.name)) {
            judge(m.name, std::move(came.mapped()), m.has);
            carry_out();
        }
    }

    void judge(const assignment_name& name, came_result came, journalled_name has) {
        switch (state.book->result_came(name, came.from, has, came.what->how, now())) {
        case result_standing::counts: {
            const auto order = state.orders.find(key_of(name));
            if (order != state.orders.end()) {
                came.what->order = order->second;
                state.to_release.insert_or_assign(name, came.from);
                const bool was_short = came.what->node_was_short;
                send(state.sweep, run_finished{std::move(came.what), was_short});
            }
            break;
        }
        case result_standing::evidence:
            keep_evidence(name, came);
            break;
        case result_standing::foreign:
            said(fmt::format("node {} has sent a result of an attempt that was never given to it: it is not counted",
                             came.from.str()));
            tell(came.from, result_taken{name});
            break;
        case result_standing::under_way: // answered when it is durable
        case result_standing::repeated:  // answered by the book
            break;
        }
    }

    void keep_evidence(const assignment_name& name, const came_result& came) {
        journal::evidence_kept kept;
        kept.run = state.settings->run_number(name.run);
        kept.attempt = name.attempt;
        kept.token = token_of(name.token);
        kept.node = came.from.str();
        kept.at = state.settings->wall();
        kept.how = came.what->how;
        kept.how.message = to_valid_utf8(kept.how.message);
        kept.score = came.what->score;
        kept.spent = came.what->spent;
        said(fmt::format("node {} has sent a late result of a run that was given to another one: it is kept and does "
                         "not count",
                         came.from.str()));
        record({std::move(kept)}, [this, name, to = came.from] {
            close_place(name);
            tell(to, result_taken{name});
        });
    }

    void on_recorded(const outcome_recorded& m) {
        const auto name = state.names.find(key_of(*m.order));
        if (name != state.names.end()) {
            const auto which = name->second;
            state.book->durable(which);
            static_cast<void>(forget_run(which));
            if (const auto from = state.to_release.extract(which)) {
                tell(from.mapped(), result_taken{which});
            }
        }
        if (m.closed) {
            state.book->closed(m.order->key);
        }
        carry_out();
    }

    // Nodes.

    void refuse(const node_port& port, const linked_process& process, const std::string& why) {
        said(fmt::format("node {} is not let in: {}", process.peer, why));
        send(port, join_refused{bounded_word(why)});
    }

    void on_hello(const hello& m) {
        const auto from = current_sender();
        const auto known = from != nullptr ? state.processes.find(from->node()) : state.processes.end();
        if (known == state.processes.end()) {
            return; // its link is gone already
        }
        const auto port = caf::actor_cast<node_port>(from);
        if (m.node.str() != known->second.peer) {
            refuse(port, known->second, fmt::format("it calls itself {}", m.node.str()));
            return;
        }
        if (state.close_by) {
            refuse(port, known->second, "the sweep is over");
            return;
        }
        const bool shows_lease = m.held != lease_number{};
        const auto how = state.book->hello(m.node, m.offer, shows_lease ? std::optional(m.held) : std::nullopt, now());
        if (!how) {
            carry_out();
            refuse(port, known->second, how.error().message);
            return;
        }
        state.nodes.insert_or_assign(m.node, linked_node{port, from->node(), m.asked, false});
        if (*how == membership::entry::again) {
            welcome(*state.book->lease_of(m.node));
        }
        carry_out();
    }

    void write_grant(const lease& what) {
        record({journal::lease_granted{what.node.str(), token_of(what.number), what.length, state.settings->wall()}},
               [this, what] { state.book->granted(what, now()); });
    }

    void welcome(const lease& what) {
        const auto node = state.nodes.find(what.node);
        if (node == state.nodes.end()) {
            return;
        }
        node->second.told = true;
        said(fmt::format("node {} has joined", what.node.str()));
        send(node->second.port, lease_granted{what.number, what.length, node->second.asked});
        send(node->second.port, sweep_described{state.settings->sweep_sheet});
    }

    void on_renew(const renew_lease& m) {
        const auto node = sender_node();
        if (!node) {
            return;
        }
        const auto its = state.book->renew(*node, m.number, now());
        if (its) {
            tell(*node, lease_renewed{its->number, its->length, m.asked});
        } else {
            tell(*node, lease_over{m.number, bounded_word(its.error().message)});
        }
        carry_out();
    }

    void link_ended(link_number number) {
        if (const auto ended = state.on_link_end.extract(number)) {
            ended.mapped()();
        }
    }

    void on_link_lost(const link_lost& m) {
        link_ended(m.number);
        state.processes.erase(m.process);
        for (auto node = state.nodes.begin(); node != state.nodes.end(); ++node) {
            if (node->second.process == m.process) {
                const auto id = node->first;
                state.nodes.erase(node);
                said(fmt::format("the connection with node {} is lost ({}): its runs go on to the end of its lease",
                                 id.str(), m.why));
                state.book->link_lost(id);
                break;
            }
        }
        carry_out();
    }

    result<std::string> drain(const std::string& name) {
        const auto id = node_id::parse(name);
        if (!id) {
            return id.error();
        }
        if (auto drained = state.book->drain(*id, true); !drained) {
            return drained.error();
        }
        carry_out();
        return fmt::format("node {} is drained: nothing new starts there", name);
    }

    std::string look() const {
        json all = json::array();
        for (const auto& node : state.book->nodes()) {
            json one{{"node", node.node.str()},
                     {"state", to_string(node.state)},
                     {"runs", node.runs},
                     {"linked", node.linked}};
            if (node.offer) {
                one["version"] = node.offer->version;
                one["runtimes"] = node.offer->runtimes;
                one["labels"] = node.offer->labels;
                one["memory_bytes"] = node.offer->capacity.memory.count;
                one["disk_bytes"] = node.offer->capacity.disk.count;
                one["milli_cpus"] = node.offer->capacity.milli_cpus;
                one["processes"] = node.offer->capacity.processes;
            }
            all.push_back(std::move(one));
        }
        return dump_json(json{{"nodes", std::move(all)},
                              {"runs_on_nodes", state.book->placed()},
                              {"runs_waiting", state.book->waiting()}});
    }

    // Time, and the end.

    void on_tick() {
        if (state.closed) {
            return;
        }
        const auto when = now();
        state.book->tick(when);
        carry_out();
        say_obstacle(when);
        delayed_send(this, state.book->tick_every(), tick_cluster{});
    }

    /// Why nothing runs, to a person, once in a while.
    void say_obstacle(coordinator_time when) {
        if (state.close_by || state.book->placed() > 0 || state.book->waiting() == 0 || state.orders.empty() ||
            (state.said_obstacle && when - *state.said_obstacle < obstacle_said_every)) {
            return;
        }
        if (const auto why = state.book->obstacle(state.settings->needs(*state.orders.begin()->second))) {
            state.said_obstacle = when;
            said(fmt::format("{} runs wait: {}", state.book->waiting(), *why));
        }
    }

    void close() {
        state.close_by = now() + state.settings->close_wait;
        withdraw_waiting();
        tell_all(sweep_over{});
        finish_closing();
    }

    void finish_closing() {
        if (!state.close_by || state.closed) {
            return;
        }
        const auto holds = [&](const auto& node) { return state.book->lease_of(node.first).has_value(); };
        const bool some = std::any_of(state.nodes.begin(), state.nodes.end(), holds);
        if ((some || !state.effects.empty()) && now() < *state.close_by) {
            return;
        }
        state.closed = true;
        send(state.sweep, cluster_closed{});
    }

    bool again_ = false; ///< something was decided while decisions were carried out
};

} // namespace

result<cluster_actor> spawn_cluster(caf::local_actor* owner, cluster_settings settings, std::vector<order_ptr> adopted,
                                    cluster_listener sweep) {
    std::vector<adopted_run> runs;
    runs.reserve(adopted.size());
    for (std::size_t i = 0; i < adopted.size(); ++i) {
        const auto& open = settings.open[i];
        runs.push_back({open.name, open.node, settings.needs(*adopted[i]), open.losses});
    }
    auto book = coordinator::open(settings.rules, settings.leases, runs, settings.now());
    if (!book) {
        return book.error();
    }
    return owner->system().spawn<cluster_impl>(std::move(settings), std::move(*book), adopted, std::move(sweep));
}

} // namespace chalk::actors
