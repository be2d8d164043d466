#include "actors/cluster/coordinator.test.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <functional>
#include <random>

using namespace chalk;
using namespace chalk::actors;
using namespace chalk::test;
using namespace std::chrono_literals;

namespace {

/// A coordinator with its journal, its nodes and the sweep that asks for runs, in virtual time. The journal answers
/// late, links break, nodes and the coordinator itself are lost and come back; and rules that nobody may break.
class random_cluster {
  public:
    random_cluster(unsigned seed, std::uint64_t runs, std::size_t nodes) : random_(seed), runs_(runs) {
        for (std::size_t i = 0; i < nodes; ++i) {
            nodes_[node_named(fmt::format("n{}", i))].cpus = 1 + static_cast<std::uint32_t>(i % 4);
        }
        for (std::uint64_t i = 0; i < runs; ++i) {
            sweep_[run_at(i)].next = attempt_number{1};
        }
        open();
    }

    void live(std::size_t steps, bool faults) {
        faults_ = faults;
        for (std::size_t i = 0; i < steps; ++i) {
            step();
        }
    }
    /// A person lets all nodes work again, and bounds nothing.
    void calm_down() {
        for (auto& [id, node] : nodes_) {
            drained_.erase(id);
            static_cast<void>(book_->drain(id, false)); // error: it was not heard of since a restart
        }
        book_->set_max_runs(most_ = std::nullopt);
        carry_out();
    }
    void check_end() const {
        CHECK(done_.size() == runs_);
        CHECK(book_->placed() == 0);
        CHECK(book_->waiting() == 0);
        CHECK(journal_.starts.empty());
        for (const auto& one : book_->nodes()) {
            INFO("node " << one.node.str() << " is " << to_string(one.state));
            CHECK(one.state == member_state::ready); // none is stuck
        }
        for (const auto& [id, node] : nodes_) {
            CHECK(node.kept.empty());
            CHECK(node.running.empty());
        }
    }
    [[nodiscard]] std::size_t losses() const { return losses_; }
    [[nodiscard]] std::size_t evidence() const { return evidence_; }
    [[nodiscard]] std::size_t quarantines() const { return quarantines_; }

  private:
    using task = std::function<void()>;

    /// Of a run that has no outcome yet.
    enum class stage { idle, waiting, out, settling };
    struct sweep_run {
        stage at = stage::idle;
        attempt_number next{1};
        std::optional<decision::place> open; ///< while out or settling
        std::uint32_t losses = 0;
        bool asked_early = false; ///< its next attempt was requested before the end of this one was durable
    };
    struct simulated_node {
        std::uint32_t cpus = 1;
        int process = 1;
        bool linked = false;
        int link = 0;
        coordinator_time last_in{};
        coordinator_time last_out{};
        std::optional<lease_number> lease; ///< as it knows itself
        coordinator_time until{};          ///< of that lease, by its own clock
        coordinator_time renew_at{};
        coordinator_time hello_at{}; ///< while it has no lease
        std::set<assignment_name> running;
        std::map<assignment_name, outcome> kept;
        std::set<assignment_name> gave_back; ///< until the coordinator has said so
    };
    struct durable_state {
        std::map<node_id, lease> leases;
        std::map<run_key, decision::place> starts; ///< without an end
        std::set<assignment_name> assigned;        ///< all that ever started
        std::set<assignment_name> taken;
        std::map<run_key, std::uint32_t> losses;
    };
    struct entry {
        std::function<void(durable_state&)> write;
        task then;
    };

    bool chance(int in) { return std::uniform_int_distribution<int>(1, in)(random_) == 1; }
    milliseconds up_to(milliseconds most) {
        return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random_));
    }
    void later(milliseconds most, task what) { tasks_.emplace(now_ + up_to(most), std::move(what)); }
    /// Of this coordinator process.
    void here_later(milliseconds most, task what) {
        later(most, [this, epoch = epoch_, what = std::move(what)] {
            if (epoch == epoch_) {
                what();
                carry_out();
            }
        });
    }
    void over_link(simulated_node& node, coordinator_time& last, task what) {
        last = std::max(last, now_ + up_to(faults_ && chance(30) ? 8'000ms : 50ms));
        tasks_.emplace(last, [this, &node, link = node.link, what = std::move(what)] {
            if (node.linked && link == node.link) {
                what();
                carry_out();
            }
        });
    }
    void to_node(const node_id& id, task what) { over_link(nodes_.at(id), nodes_.at(id).last_in, std::move(what)); }
    void to_coordinator(const node_id& id, task what) {
        over_link(nodes_.at(id), nodes_.at(id).last_out, std::move(what));
    }

    void step() {
        auto next = now_ + 250ms;
        if (!tasks_.empty()) {
            next = std::min(next, tasks_.begin()->first);
        }
        now_ = std::max(now_, next);
        for (auto& [id, node] : nodes_) {
            if (node.lease && now_ >= node.until) {
                stop(node); // by its own clock
            }
        }
        if (now_ >= tick_at_) {
            tick_at_ = now_ + book_->tick_every();
            book_->tick(now_);
            carry_out();
        }
        while (!tasks_.empty() && tasks_.begin()->first <= now_) {
            auto what = tasks_.extract(tasks_.begin());
            what.mapped()();
        }
        for (auto& [id, node] : nodes_) {
            live_on(id, node);
        }
        if (faults_) {
            trouble();
        }
        ask_for_runs();
        carry_out();
        check_rules();
    }

    void trouble() {
        const auto& [id, node] = *std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(random_() % nodes_.size()));
        if (chance(60)) {
            const bool on = !drained_.contains(id) && chance(2);
            if (book_->drain(id, on)) {
                on ? static_cast<void>(drained_.insert(id)) : static_cast<void>(drained_.erase(id));
            }
            carry_out();
        }
        if (chance(80)) {
            most_ = chance(2) ? std::nullopt : std::optional<std::size_t>(random_() % 12);
            book_->set_max_runs(most_);
            carry_out();
        }
        if (chance(100)) {
            withdraw();
        }
        if (chance(150)) {
            break_link(id);
            note_break(id);
        }
        if (chance(30)) { // nobody's, or another node's
            const run_key run = run_at(random_() % runs_);
            const auto& its = sweep_[run].open;
            const bool is_other = its && its->node != id;
            if (is_other || !its) {
                const auto name = its ? its->name : assignment_name{run, attempt_number{1}, {epoch_, 1'000'000}};
                const bool may_be_under_way = sweep_[run].at == stage::settling;
                const auto how = book_->result_came(name, id, journalled_name::absent, outcome::passed(), now_);
                CHECK(how == (may_be_under_way ? result_standing::under_way : result_standing::foreign));
                CHECK_FALSE(book_->given_back(name, id));
            }
        }
        if (chance(400)) {
            restart();
        }
    }

    // The sweep.

    void ask_for_runs() {
        for (int i = 0; i < 3; ++i) {
            const run_key run = run_at(random_() % runs_);
            if (!done_.contains(run) && sweep_[run].at == stage::idle) {
                request(run);
            }
        }
    }
    void request(run_key run) {
        auto& its = sweep_[run];
        auto needs = one_cpu();
        needs.wanted.milli_cpus *= 1 + static_cast<std::uint32_t>(run.index % 3);
        if (its.at == stage::settling) {
            its.asked_early = true;
        } else {
            its.at = stage::waiting;
        }
        book_->request(run, its.next, needs);
        carry_out();
    }
    void withdraw() {
        std::set<run_key> waited;
        for (const auto& [run, its] : sweep_) {
            if (its.at == stage::waiting || its.asked_early) {
                waited.insert(run);
            }
        }
        std::set<run_key> told;
        for (const auto& [run, attempt] : book_->withdraw_waiting()) {
            auto& its = sweep_[run];
            CHECK(attempt == its.next);
            CHECK(told.insert(run).second);
            its.at = its.asked_early ? its.at : stage::idle;
            its.asked_early = false;
        }
        CHECK(told == waited);
    }
    /// The run's one outcome.
    void end_run(run_key run) {
        CHECK(done_.insert(run).second);
        sweep_[run].at = stage::idle;
        sweep_[run].open.reset();
        book_->closed(run);
    }

    // The coordinator's process.

    void open() {
        ++epoch_;
        std::vector<lease> leases;
        for (const auto& [id, its] : journal_.leases) {
            leases.push_back(its);
        }
        std::vector<adopted_run> adopted;
        for (const auto& [run, start] : journal_.starts) {
            REQUIRE(journal_.leases.contains(start.node)); // an end goes with the losses that follow from it
            auto needs = one_cpu();
            needs.wanted.milli_cpus *= 1 + static_cast<std::uint32_t>(run.index % 3);
            adopted.push_back({start.name, start.node, needs, journal_.losses[run]});
        }
        auto rules = strict_rules();
        rules.epoch = epoch_;
        rules.slack = 0.5;
        auto opened = coordinator::open(rules, leases, adopted, now_);
        REQUIRE(opened);
        book_.emplace(std::move(*opened));
    }
    /// It is killed: what was not durable is gone, and every link with it.
    void restart() {
        queue_.clear();
        writing_ = false;
        drained_.clear();
        known_links_.clear();
        most_.reset();
        for (auto& [id, node] : nodes_) {
            break_link(id);
        }
        for (auto& [run, its] : sweep_) {
            const auto start = journal_.starts.find(run);
            const bool alive = start != journal_.starts.end();
            const auto next = alive ? start->second.name.attempt : its.open ? its.open->name.attempt : its.next;
            its = {.at = alive ? stage::out : stage::idle, .next = next, .open = {}, .losses = journal_.losses[run]};
            if (alive) {
                its.open = start->second;
            }
        }
        open();
    }
    void record(
        std::function<void(durable_state&)> what, task then = [] {}) {
        queue_.push_back({std::move(what), std::move(then)});
        write();
    }
    /// One batch at a time, as a whole or not at all.
    void write() {
        if (writing_ || queue_.empty()) {
            return;
        }
        writing_ = true;
        // What is recorded at this very moment goes along: an end, and the losses that follow from it.
        here_later(faults_ && chance(10) ? 6'000ms : 60ms, [this] {
            const auto batch = std::exchange(queue_, {});
            writing_ = false;
            for (const auto& one : batch) {
                one.write(journal_);
            }
            for (const auto& one : batch) {
                one.then();
                carry_out();
            }
            write();
        });
    }

    void carry_out() {
        if (std::exchange(carrying_out_, true)) {
            return; // what is decided now comes after what was decided before
        }
        for (auto all = book_->take_decisions(); !all.empty(); all = book_->take_decisions()) {
            for (const auto& one : all) {
                std::visit(overloaded{
                               [&](const decision::write_grant& d) {
                                   record(
                                       [d](durable_state& j) { CHECK(j.leases.emplace(d.what.node, d.what).second); },
                                       [this, d] { book_->granted(d.what, now_); });
                               },
                               [&](const decision::write_end& d) {
                                   record([d](durable_state& j) { CHECK(j.leases.erase(d.what.node) == 1); });
                                   ended_.insert(d.what.number);
                               },
                               [&](const decision::welcome& d) { welcome(d.what); },
                               [&](const decision::place& d) { place(d); },
                               [&](const decision::send_run& d) { send(d); },
                               [&](const decision::drop_run& d) {
                                   to_node(d.node, [this, d] { nodes_.at(d.node).running.erase(d.name); });
                               },
                               [&](const decision::release_result& d) { release(d.name, d.node); },
                               [&](const decision::lose_run& d) { lose(d); },
                               [&](const decision::probe_node& d) {
                                   CHECK(known_links_.contains(d.node));
                                   CHECK(journal_.leases.contains(d.node));
                                   to_node(d.node, [this, d] {
                                       to_coordinator(d.node, [this, d, passed = !faults_ || !chance(3)] {
                                           book_->probed(d.node, passed, now_);
                                       });
                                   });
                               },
                               [&](const decision::say& d) {
                                   quarantines_ += d.text.find("is in quarantine") != std::string::npos ? 1 : 0;
                                   CHECK(d.text.find("assigned already") == std::string::npos);
                               },
                           },
                           one);
            }
        }
        carrying_out_ = false;
    }

    void welcome(const lease& what) {
        CHECK(journal_.leases.at(what.node) == what);
        told_.insert(what.node);
        heard_[what.node] = now_;
    }
    void place(const decision::place& d) {
        auto& its = sweep_[d.name.run];
        CHECK(its.at == stage::waiting);
        CHECK(its.next == d.name.attempt);
        CHECK_FALSE(done_.contains(d.name.run));
        CHECK(last_token_ < d.name.token);
        last_token_ = d.name.token;
        // Ready, as the book says and as it is.
        for (const auto& one : book_->nodes()) {
            CHECK((one.node != d.node || one.state == member_state::ready));
        }
        CHECK(known_links_.contains(d.node));
        CHECK_FALSE(drained_.contains(d.node));
        CHECK(now_ < heard_[d.node] + lease_terms::suspect_after(12s) + book_->tick_every() + 250ms);
        its.at = stage::out;
        its.open = d;
        CHECK((!most_ || count(stage::out) <= *most_));
        record(
            [d](durable_state& j) {
                CHECK(j.assigned.insert(d.name).second);
                CHECK(j.starts.emplace(d.name.run, d).second);
            },
            [this, d] { book_->started(d.name); });
    }
    void send(const decision::send_run& d) {
        CHECK(journal_.assigned.contains(d.name));
        CHECK(sweep_[d.name.run].open->name == d.name);
        if (told_.contains(d.node)) {
            to_node(d.node, [this, d] { begin(d.name, d.node); });
        }
    }
    void lose(const decision::lose_run& d) {
        auto& its = sweep_[d.name.run];
        CHECK(its.at == stage::out);
        REQUIRE(its.open);
        CHECK(its.open->name == d.name);
        const auto& node = nodes_.at(d.node);
        CHECK_FALSE(node.running.contains(d.name)); // nothing of it can be alive
        ++losses_;
        its.open.reset();
        its.at = stage::idle;
        its.next = attempt_number{static_cast<std::uint32_t>(d.name.attempt) + 1};
        const bool last = ++its.losses >= schedule::max_node_losses;
        record(
            [d](durable_state& j) {
                j.starts.erase(d.name.run);
                ++j.losses[d.name.run];
            },
            [this, run = d.name.run, last] {
                if (last) {
                    end_run(run);
                }
            });
        if (last) {
            its.at = stage::settling; // of the sweep alone
        } else if (chance(2)) {
            request(d.name.run);
        }
    }
    void release(const assignment_name& name, const node_id& id) {
        to_node(id, [this, name, id] { nodes_.at(id).kept.erase(name); });
    }

    void result_came(const assignment_name& name, const node_id& from, const outcome& how) {
        if (!book_->must_ask(name)) {
            judge(name, from, how, journalled_name::absent);
            return;
        }
        here_later(500ms, [this, name, from, how] {
            judge(name, from, how,
                  journal_.taken.contains(name)      ? journalled_name::taken
                  : journal_.assigned.contains(name) ? journalled_name::assigned
                                                     : journalled_name::absent);
        });
    }
    void judge(const assignment_name& name, const node_id& from, const outcome& how, journalled_name has) {
        auto& its = sweep_[name.run];
        const bool open = its.open && its.open->name == name;
        switch (book_->result_came(name, from, has, how, now_)) {
        case result_standing::counts:
            CHECK((open && its.at == stage::out && its.open->node == from));
            count_result(name, from, how);
            break;
        case result_standing::under_way:
            CHECK((open && its.at == stage::settling));
            break;
        case result_standing::repeated:
            CHECK(journal_.taken.contains(name));
            break;
        case result_standing::evidence:
            CHECK_FALSE(open);
            CHECK_FALSE(journal_.taken.contains(name));
            ++evidence_;
            release(name, from);
            break;
        case result_standing::foreign:
            FAIL("an honest node was not believed");
        }
    }
    void count_result(const assignment_name& name, const node_id& from, const outcome& how) {
        auto& its = sweep_[name.run];
        its.at = stage::settling;
        const bool again = how.kind.has_value() && chance(2);
        its.next = attempt_number{static_cast<std::uint32_t>(name.attempt) + 1};
        if (again && chance(2)) {
            request(name.run); // waits until the end is durable
        }
        record(
            [name](durable_state& j) {
                CHECK(j.starts.erase(name.run) == 1);
                CHECK(j.taken.insert(name).second);
            },
            [this, name, from, again] {
                auto& run = sweep_[name.run];
                run.at = std::exchange(run.asked_early, false) ? stage::waiting : stage::idle;
                run.open.reset();
                if (!again) {
                    book_->durable(name);
                    end_run(name.run);
                } else {
                    book_->durable(name);
                }
                release(name, from);
            });
    }

    // The nodes.

    void live_on(const node_id& id, simulated_node& node) {
        if (!node.linked && chance(faults_ ? 20 : 3)) {
            node.linked = true;
            ++node.link;
            node.last_in = node.last_out = now_;
            hello(id);
        } else if (node.linked && !node.lease && now_ >= node.hello_at) {
            hello(id);
        } else if (node.linked && node.lease && now_ >= node.renew_at) {
            node.renew_at = now_ + 2s;
            to_coordinator(id, [this, id, number = *node.lease, asked = now_] { on_renewal(id, number, asked); });
        }
        if (!faults_) {
            return;
        }
        if (node.linked && chance(200)) {
            break_link(id);
            note_break(id);
        }
        if (chance(500)) { // its process dies, and another one begins: with its lease's file or without it
            break_link(id);
            node.running.clear();
            ++node.process;
            if (chance(2)) {
                node.lease.reset();
            }
            here_later(3'000ms, [this, id, link = node.link] {
                if (nodes_.at(id).link == link) {
                    note_break(id); // late
                }
            });
        }
        if (node.lease && chance(500)) {
            to_coordinator(id, [this, id, number = *node.lease] { book_->gave_up(id, number); });
            stop(node);
        }
    }
    void stop(simulated_node& node) {
        node.running.clear();
        node.lease.reset();
    }
    void break_link(const node_id& id) {
        nodes_.at(id).linked = false;
        told_.erase(id);
    }
    void note_break(const node_id& id) {
        known_links_.erase(id);
        book_->link_lost(id);
        carry_out();
    }
    void hello(const node_id& id) {
        auto& node = nodes_.at(id);
        node.hello_at = now_ + 3s;
        to_coordinator(id, [this, id, holds = node.lease, asked = now_] {
            told_.erase(id);
            const auto how = book_->hello(id, offer_of(nodes_.at(id).cpus), holds, now_);
            if (!how) {
                carry_out();
                break_link(id); // refused
                note_break(id);
                return;
            }
            known_links_.insert(id);
            if (*how == membership::entry::anew) {
                wait_for_welcome(id, asked, nodes_.at(id).link);
                return;
            }
            told_.insert(id);
            heard_[id] = now_;
            granted(id, *book_->lease_of(id), asked);
        });
    }
    void wait_for_welcome(const node_id& id, coordinator_time asked, int link) {
        here_later(100ms, [this, id, asked, link] {
            auto& node = nodes_.at(id);
            if (!node.linked || node.link != link) {
                return;
            }
            told_.contains(id) ? granted(id, *book_->lease_of(id), asked) : wait_for_welcome(id, asked, link);
        });
    }
    void granted(const node_id& id, const lease& its, coordinator_time asked) {
        to_node(id, [this, id, its, asked] {
            auto& node = nodes_.at(id);
            if (node.lease != its.number) {
                node.running.clear();
            }
            node.lease = its.number;
            node.until = asked + its.length;
            node.renew_at = now_;
            if (now_ >= node.until) {
                stop(node);
            }
            std::set<assignment_name> ended;
            for (const auto& [name, how] : node.kept) {
                ended.insert(name);
                tell_result(id, name, how);
            }
            for (const auto& name : node.gave_back) {
                ended.insert(name);
                to_coordinator(id, [this, id, name] { given_back(name, id); });
            }
            // What it has is of the moment in which it is said.
            to_coordinator(id, [this, id, running = node.running, ended] { book_->node_has(id, running, ended); });
        });
    }
    void on_renewal(const node_id& id, lease_number number, coordinator_time asked) {
        const auto its = book_->renew(id, number, now_);
        CHECK((!its || !ended_.contains(number)));
        if (its) {
            heard_[id] = now_;
        }
        to_node(id, [this, id, number, asked, its] {
            auto& node = nodes_.at(id);
            if (node.lease != number) {
                return;
            }
            if (its) {
                node.until = std::max(node.until, asked + its->length);
            } else {
                stop(node);
                hello(id);
            }
        });
    }
    void begin(const assignment_name& name, const node_id& id) {
        auto& node = nodes_.at(id);
        if (!node.lease || node.running.contains(name) || node.kept.contains(name) || node.gave_back.contains(name)) {
            return;
        }
        if (chance(15)) {
            node.gave_back.insert(name);
            to_coordinator(id, [this, id, name] { given_back(name, id); });
            return;
        }
        for (const auto& [other, its] : nodes_) {
            for (const auto& one : its.running) {
                CHECK(one.run != name.run); // no two attempts at once
            }
        }
        node.running.insert(name);
        later(chance(8) ? 20'000ms : 1'500ms, [this, id, name, process = node.process] {
            auto& its = nodes_.at(id);
            if (its.process != process || its.running.erase(name) == 0) {
                return;
            }
            const auto how = chance(4)
                                 ? outcome::error(chance(2) ? error_class::sandbox : error_class::model, "it broke")
                                 : outcome::passed();
            its.kept.emplace(name, how);
            if (its.lease) {
                tell_result(id, name, how);
            }
        });
    }
    void tell_result(const node_id& id, const assignment_name& name, const outcome& how) {
        for (int times = chance(6) ? 2 : 1; times > 0; --times) {
            to_coordinator(id, [this, id, name, how] {
                if (told_.contains(id)) {
                    result_came(name, id, how);
                }
            });
        }
    }
    void given_back(const assignment_name& name, const node_id& from) {
        auto& its = sweep_[name.run];
        const bool open = its.at == stage::out && its.open && its.open->name == name;
        CHECK(book_->given_back(name, from) == open);
        to_node(from, [this, name, from] { nodes_.at(from).gave_back.erase(name); });
        if (open) {
            its = {.at = stage::idle,
                   .next = attempt_number{static_cast<std::uint32_t>(name.attempt) + 1},
                   .open = {},
                   .losses = its.losses};
            record([name](durable_state& j) { CHECK(j.starts.erase(name.run) == 1); });
        }
    }

    [[nodiscard]] std::size_t count(stage at) const {
        return static_cast<std::size_t>(
            std::count_if(sweep_.begin(), sweep_.end(), [at](const auto& one) { return one.second.at == at; }));
    }
    void check_rules() {
        const auto early = static_cast<std::size_t>(
            std::count_if(sweep_.begin(), sweep_.end(), [](const auto& one) { return one.second.asked_early; }));
        CHECK(book_->placed() == count(stage::out));
        CHECK(book_->waiting() == count(stage::waiting) + early);
        std::size_t on_nodes = 0;
        for (const auto& one : book_->nodes()) {
            on_nodes += one.runs;
        }
        CHECK(on_nodes == book_->placed());
        for (const auto& [run, its] : sweep_) {
            if (its.at == stage::out) {
                CHECK(book_->where(its.open->name) == its.open->node);
            }
        }
    }

    std::mt19937 random_;
    std::uint64_t runs_;
    bool faults_ = true;
    coordinator_time now_{1h};
    coordinator_time tick_at_{};
    std::multimap<coordinator_time, task> tasks_;
    std::uint64_t epoch_ = 0;
    std::optional<coordinator> book_;
    durable_state journal_;
    std::vector<entry> queue_;
    bool writing_ = false;
    bool carrying_out_ = false;
    std::map<run_key, sweep_run> sweep_;
    std::set<run_key> done_;
    std::map<node_id, simulated_node> nodes_;
    std::set<node_id> told_;        ///< of its lease, over the link that it has
    std::set<node_id> known_links_; ///< let in, and the coordinator knows of no break
    std::map<node_id, coordinator_time> heard_;
    std::set<lease_number> ended_;
    std::set<node_id> drained_;
    std::optional<std::size_t> most_;
    fencing_token last_token_;
    std::size_t losses_ = 0;
    std::size_t evidence_ = 0;
    std::size_t quarantines_ = 0;
};

} // namespace

TEST_CASE(
    "whatever happens to nodes, links, journal and coordinator: every run has one outcome, and none is lost silently") {
    std::size_t losses = 0;
    std::size_t evidence = 0;
    std::size_t quarantines = 0;
    const unsigned worlds = std::getenv("CHALK_TEST_LONG") != nullptr ? 120 : 8; // a second or more each
    for (unsigned seed = 1; seed <= worlds; ++seed) {
        INFO("seed " << seed);
        random_cluster world(seed, 150, 5);
        world.live(2'500, true);
        world.calm_down();
        world.live(4'000, false);
        world.check_end();
        losses += world.losses();
        evidence += world.evidence();
        quarantines += world.quarantines();
    }
    CHECK(losses > 2 * worlds); // else the worlds are too kind
    CHECK(evidence > worlds / 4);
    CHECK(quarantines > worlds / 2);
}
