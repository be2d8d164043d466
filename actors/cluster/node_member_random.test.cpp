#include "actors/cluster/node_member.hpp"
#include "protocol/core/overloaded.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;
namespace does = chalk::actors::member_decision;

namespace {

constexpr milliseconds world_lease{12'000};
constexpr milliseconds world_margin{3'000};
constexpr milliseconds world_spare{1'000};

/// A node and its coordinator in virtual time, a link between them that breaks, and rules that nobody may break.
class random_world {
  public:
    random_world(unsigned seed, std::uint64_t runs) : random_(seed), runs_(runs) { restart({}); }

    void live(std::size_t steps, bool faults) {
        for (std::size_t i = 0; i < steps; ++i) {
            step(faults);
        }
    }
    [[nodiscard]] std::size_t counted() const { return counted_.size(); }
    [[nodiscard]] std::size_t started() const { return started_.size(); }
    void check_end() const {
        CHECK(counted_.size() == runs_);
        CHECK(member_->size() == 0);
        CHECK(disk_.empty());
    }

  private:
    using task = std::function<void()>;
    enum class place { making, running };

    bool chance(int in) { return std::uniform_int_distribution<int>(1, in)(random_) == 1; }
    milliseconds up_to(milliseconds most) {
        return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random_));
    }
    void later(milliseconds most, task what) { tasks_.emplace(now_ + up_to(most), std::move(what)); }
    /// In order, and only when that link still stands. To the node: not after its process has gone.
    void over_link(node_time& last, task what) {
        last = std::max(last, now_ + up_to(chance(20) ? milliseconds(9'000) : milliseconds(60)));
        tasks_.emplace(last, [this, link = link_, what = std::move(what)] {
            if (link == link_ && linked_) {
                what();
            }
        });
    }
    void to_coordinator(task what) { over_link(last_out_, std::move(what)); }
    void to_node(task what) { over_link(last_in_, std::move(what)); }

    void step(bool faults) {
        node_time next = now_ + 200ms;
        if (!tasks_.empty()) {
            next = std::min(next, tasks_.begin()->first);
        }
        if (const auto due = member_->next_due()) {
            next = std::min(next, std::max(*due, now_));
        }
        now_ = std::max(now_, next);
        member_->tick(now_);
        carry_out();
        while (!tasks_.empty() && tasks_.begin()->first <= now_) {
            auto what = tasks_.extract(tasks_.begin());
            what.mapped()();
            carry_out();
        }
        if (!linked_ && chance(faults ? 12 : 2)) {
            linked_ = true;
            ++link_;
            last_in_ = last_out_ = now_;
            member_->link_up(now_);
        } else if (linked_ && faults && chance(60)) {
            cut();
        }
        if (faults && chance(400)) {
            restart(noted_);
        }
        if (faults && chance(100)) {
            now_ += up_to(15s); // the node was stopped, or nothing happened
            member_->tick(now_);
        }
        carry_out();
        coordinate();
        check_rules();
    }

    void cut() {
        linked_ = false;
        member_->link_lost(now_);
    }

    /// The node's process dies and another begins: what is on disk is what it has.
    void restart(std::optional<lease_number> found) {
        ++process_;
        linked_ = false;
        places_.clear();
        told_to_stop_.clear();
        member_ = std::make_unique<node_member>(node_member_rules{.stop_margin = world_margin, .most_offered = 3},
                                                found, std::vector(disk_.begin(), disk_.end()));
    }

    /// Of this process, so that nothing of a dead one comes.
    void node_later(milliseconds most, task what) {
        later(most, [this, process = process_, what = std::move(what)] {
            if (process == process_) {
                member_->tick(now_);
                what();
            }
        });
    }

    void carry_out() {
        for (auto decisions = member_->take_decisions(); !decisions.empty(); decisions = member_->take_decisions()) {
            for (const auto& one : decisions) {
                std::visit(overloaded{
                               [&](const does::say_hello& d) { to_coordinator([this, d] { on_hello(d); }); },
                               [&](const does::say_renewal& d) { to_coordinator([this, d] { on_renewal(d); }); },
                               [&](const does::say_given_up& d) {
                                   CHECK(running() == 0); // of that lease
                                   to_coordinator([this, d] { on_given_up(d.number); });
                               },
                               [&](const does::say_kept& d) { to_coordinator([this, d] { on_kept(d); }); },
                               [&](const does::say_ended& d) {
                                   CHECK(disk_.contains(d.name));
                                   to_coordinator([this, d] { on_ended(d.name); });
                               },
                               [&](const does::make_run& d) { make(d.name); },
                               [&](const does::stop_runs&) {
                                   for (const auto& [name, at] : places_) {
                                       if (at == place::running) {
                                           kill(name);
                                       }
                                   }
                               },
                               [&](const does::stop_run& d) { kill(d.name); },
                               [&](const does::land_files& d) {
                                   node_later(300ms, [this, d] { member_->landed(d.name, !chance(10), now_); });
                               },
                               [&](const does::forget_run& d) { forget(d.name); },
                               [&](const does::move_lease& d) {
                                   CHECK(d.until > now_);
                                   until_ = d.until;
                               },
                               [&](const does::note_lease& d) { noted_ = d.number; },
                               [](const does::say_word&) {},
                               [&](const does::cut_off_link&) { cut(); },
                               [](const does::leave&) { FAIL("nobody told it to quit"); },
                           },
                           one);
            }
        }
    }

    // The node's runs.

    void make(const assignment_name& name) {
        CHECK(member_->live_lease().has_value());
        CHECK(made_.insert(name).second); // by no process twice
        places_.emplace(name, place::making);
        node_later(500ms, [this, name] {
            if (chance(15)) {
                places_.erase(name);
                over(name, false); // its order cannot be made
            } else if (member_->may_start(name, now_)) {
                CHECK(member_->live_lease().has_value());
                CHECK(lease_ == member_->live_lease());
                CHECK(started_.insert(name).second); // no name runs twice
                places_[name] = place::running;
                node_later(chance(5) ? milliseconds(30'000) : milliseconds(2'000),
                           [this, name] { end_run(name, false); });
            } else {
                places_.erase(name);
            }
        });
    }
    void kill(const assignment_name& name) {
        told_to_stop_.insert(name);
        node_later(world_margin - 500ms, [this, name] { end_run(name, true); });
    }
    void end_run(const assignment_name& name, bool killed) {
        if (places_.erase(name) > 0) {
            over(name, killed);
        }
    }
    void over(const assignment_name& name, bool cancelled) {
        if (member_->ended(name, cancelled, now_)) {
            node_later(200ms, [this, name] {
                disk_.insert(name);
                member_->kept(name, now_);
            });
        }
    }
    void forget(const assignment_name& name) {
        // Only what was taken or dropped, or died with its lease and so never was a result.
        CHECK((let_go_.contains(name) || !disk_.contains(name)));
        disk_.erase(name);
    }
    [[nodiscard]] std::size_t running() const {
        return static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(),
                                                      [](const auto& one) { return one.second == place::running; }));
    }

    // The coordinator, by the rules of ADR 14.

    void on_hello(const does::say_hello& d) {
        end_lease_in_time();
        if (lease_ && d.held != *lease_) {
            member_->refused(); // over the link, a moment later; then it is cut
            cut();
            return;
        }
        if (!lease_) {
            lease_ = lease_number{1, ++last_lease_};
        }
        heard_ = now_;
        joined_ = link_;
        to_node([this, d, number = *lease_] { member_->granted(number, world_lease, d.asked, now_); });
    }
    void on_renewal(const does::say_renewal& d) {
        end_lease_in_time();
        if (lease_ != d.number) {
            to_node([this, d] { member_->over(d.number, now_); });
            return;
        }
        heard_ = now_;
        to_node([this, d] { member_->renewed(d.number, world_lease, d.asked, now_); });
    }
    void on_given_up(lease_number number) {
        if (lease_ == number) {
            lose();
        }
    }
    void end_lease_in_time() {
        if (lease_ && now_ >= heard_ + world_lease + world_spare) {
            CHECK((running() == 0 || now_ >= until_)); // rule 2, or their sandboxes' first processes: surely dead
            lose();
        }
    }
    void lose() {
        lease_.reset();
        joined_.reset();
        out_.clear(); // each is given out anew, under another token
    }
    void on_kept(const does::say_kept& d) {
        for (const auto& name : d.running) {
            if (!std::count(out_.begin(), out_.end(), name)) {
                let_go_.insert(name);
                to_node([this, name] { member_->dropped(name, now_); });
            }
        }
        for (const auto& name : out_) {
            if (!d.running.contains(name) && !d.ended.contains(name)) {
                to_node([this, name] { member_->assigned(name, "sheet", now_); });
            }
        }
    }
    void on_ended(const assignment_name& name) {
        CHECK(assigned_.contains(name));
        const auto open = std::find(out_.begin(), out_.end(), name);
        if (open != out_.end()) {
            out_.erase(open);
            CHECK(counted_.insert(name.run).second); // once a run
        }
        later(400ms, [this, name] { // when the journal has it
            let_go_.insert(name);
            to_node([this, name] { member_->taken(name, now_); });
        });
    }
    void coordinate() {
        end_lease_in_time();
        if (!lease_ || joined_ != link_ || !linked_ || out_.size() >= 8) {
            return;
        }
        for (std::uint64_t i = 0; i < runs_ && out_.size() < 8; ++i) {
            const bool is_out =
                std::any_of(out_.begin(), out_.end(), [&](const auto& one) { return one.run.index == i; });
            if (!counted_.contains({0, i}) && !is_out) {
                const assignment_name name{{0, i}, attempt_number{1}, {1, ++last_token_}};
                out_.push_back(name);
                assigned_.insert(name);
                to_node([this, name] { member_->assigned(name, "sheet", now_); });
                if (chance(30)) { // it was wrong
                    out_.pop_back();
                    let_go_.insert(name);
                    to_node([this, name] { member_->dropped(name, now_); });
                }
            }
        }
    }

    void check_rules() {
        if (!member_->live_lease()) { // nothing runs that was not told to stop
            for (const auto& [name, at] : places_) {
                CHECK((at != place::running || told_to_stop_.contains(name)));
            }
        }
        CHECK(member_->running() == running());
    }

    std::mt19937 random_;
    std::uint64_t runs_;
    node_time now_{std::chrono::hours(1)};
    std::multimap<node_time, task> tasks_;
    std::unique_ptr<node_member> member_;
    int process_ = 0;
    bool linked_ = false;
    int link_ = 0;
    node_time last_in_{};
    node_time last_out_{};
    std::map<assignment_name, place> places_;
    std::set<assignment_name> told_to_stop_;
    node_time until_{}; ///< of all sandboxes
    std::set<assignment_name> made_;
    std::set<assignment_name> started_;
    std::set<assignment_name> disk_;
    std::optional<lease_number> noted_;

    std::optional<lease_number> lease_;
    std::optional<int> joined_; ///< over which link it was let in
    node_time heard_{};
    std::uint64_t last_lease_ = 0;
    std::uint64_t last_token_ = 0;
    std::vector<assignment_name> out_;
    std::set<assignment_name> assigned_;
    std::set<assignment_name> let_go_;
    std::set<run_key> counted_;
};

} // namespace

TEST_CASE(
    "whatever happens to link, node and answers: no run without a lease, none twice, no result lost or counted twice") {
    const unsigned worlds = std::getenv("CHALK_TEST_LONG") != nullptr ? 240 : 12;
    for (unsigned seed = 1; seed <= worlds; ++seed) {
        INFO("seed " << seed);
        random_world world(seed, 60);
        world.live(3'000, true);
        world.live(6'000, false);
        world.check_end();
    }
}
