#include "actors/cluster/result_fence.hpp"

#include "tests/support/catch.hpp"

#include <map>
#include <random>
#include <set>
#include <vector>

using namespace chalk;
using namespace chalk::actors;

namespace {

using verdict = result_standing;
constexpr run_key one_run{3, 1};

result_fence new_fence(std::uint64_t epoch = 1, const std::vector<assignment_name>& open = {}) {
    return result_fence::open(epoch, open).value();
}

} // namespace

TEST_CASE("a result counts once, and is the one that was taken when the journal has it") {
    auto fence = new_fence();
    const auto given = fence.assign(one_run, attempt_number{1}).value();
    CHECK_FALSE(fence.must_ask(given));
    CHECK_FALSE(fence.durable(given)); // nothing has come
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::counts);
    CHECK(fence.durable(given));
    CHECK_FALSE(fence.durable(given));
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::repeated);
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::repeated);
    CHECK(fence.kept_results() == 1);
    CHECK_FALSE(fence.must_ask(given));
    fence.forget(given);
    CHECK(fence.kept_results() == 0);
    CHECK(fence.must_ask(given));
    CHECK(fence.accept(given, journalled_name::taken) == verdict::repeated);
}

TEST_CASE("a result that comes again before it is durable is not said to be taken, and its run is not given out") {
    auto fence = new_fence();
    const auto given = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::counts);
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::under_way);
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::under_way);
    CHECK(fence.is_open(given));
    CHECK(fence.open_assignments() == 1);
    CHECK_FALSE(fence.assign(one_run, attempt_number{2}));
    CHECK(fence.durable(given));
    CHECK_FALSE(fence.is_open(given));
    CHECK(fence.assign(one_run, attempt_number{2})); // the outcome may be one that is tried again
}

TEST_CASE("a result that the journal did not take counts when its node offers it again") {
    auto fence = new_fence();
    const auto given = fence.assign(one_run, attempt_number{1}).value();
    CHECK_FALSE(fence.withdraw(given)); // nothing has come
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::counts);
    CHECK_FALSE(fence.withdraw(given));
    CHECK_FALSE(fence.durable(given));
    CHECK(fence.is_open(given));
    CHECK(fence.kept_results() == 0);
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::counts);
    CHECK(fence.durable(given));
    CHECK_FALSE(fence.withdraw(given)); // too late for that
    CHECK(fence.accept(given, journalled_name::taken) == verdict::repeated);
}

TEST_CASE("a coordinator that dies before a result is durable counts it when its node offers it again") {
    auto before = new_fence();
    const auto given = before.assign(one_run, attempt_number{1}).value();
    CHECK(before.accept(given, journalled_name::assigned) == verdict::counts);
    auto after = new_fence(2, {given});
    CHECK(after.accept(given, journalled_name::assigned) == verdict::counts);
}

TEST_CASE("of an assignment that is given up while its result is on its way the journal's answer decides") {
    auto fence = new_fence();
    const auto given = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.accept(given, journalled_name::assigned) == verdict::counts);
    CHECK_FALSE(fence.give_up(given));
    CHECK_FALSE(fence.assign(one_run, attempt_number{2}));
    SECTION("it is taken, and nothing is kept for a node that is lost") {
        CHECK(fence.durable(given));
        CHECK(fence.kept_results() == 0);
        CHECK(fence.open_assignments() == 0);
        CHECK(fence.accept(given, journalled_name::taken) == verdict::repeated);
    }
    SECTION("it is not, and the run is another's") {
        CHECK(fence.withdraw(given));
        CHECK_FALSE(fence.is_open(given));
        CHECK(fence.assign(one_run, attempt_number{1}));
        CHECK(fence.accept(given, journalled_name::assigned) == verdict::evidence);
    }
}

TEST_CASE("a late result of a lost attempt is evidence, before and after the next attempt's") {
    auto fence = new_fence();
    const auto lost = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.give_up(lost));
    CHECK_FALSE(fence.give_up(lost));
    CHECK(fence.must_ask(lost));
    CHECK(fence.accept(lost, journalled_name::assigned) == verdict::evidence);
    const auto next = fence.assign(one_run, attempt_number{2}).value();
    CHECK(next.token > lost.token);
    CHECK(fence.accept(lost, journalled_name::assigned) == verdict::evidence);
    CHECK(fence.accept(next, journalled_name::assigned) == verdict::counts);
    CHECK(fence.accept(lost, journalled_name::assigned) == verdict::evidence);
    CHECK(fence.durable(next));
    CHECK(fence.accept(lost, journalled_name::assigned) == verdict::evidence);
}

TEST_CASE("an attempt that is assigned again under its number has another token") {
    auto fence = new_fence();
    const auto given_back = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.give_up(given_back));
    const auto again = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.accept(given_back, journalled_name::assigned) == verdict::evidence);
    CHECK(fence.accept(again, journalled_name::assigned) == verdict::counts);
}

TEST_CASE("a run has one open assignment at a time") {
    auto fence = new_fence();
    REQUIRE(fence.assign(one_run, attempt_number{1}));
    const auto second = fence.assign(one_run, attempt_number{2});
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == error_class::harness);
}

TEST_CASE("a result of what was never assigned is foreign") {
    auto fence = new_fence();
    auto wrong = fence.assign(one_run, attempt_number{1}).value();
    const auto right = wrong;
    wrong.attempt = attempt_number{2};
    for (const assignment_name& made_up : {wrong,
                                           assignment_name{one_run, attempt_number{1}, {1, 2}},
                                           {one_run, attempt_number{1}, {2, 1}},
                                           {one_run, attempt_number{1}, {}}}) {
        CHECK_FALSE(fence.must_ask(made_up));
        CHECK(fence.accept(made_up, journalled_name::assigned) == verdict::foreign); // whatever is said of it
    }
    CHECK(fence.accept({{9, 9}, attempt_number{1}, right.token}, journalled_name::absent) == verdict::foreign);
    CHECK(fence.accept(right, journalled_name::assigned) == verdict::counts);
    CHECK(fence.accept(wrong, journalled_name::absent) == verdict::foreign);
    CHECK(fence.durable(right));
    CHECK(fence.accept(wrong, journalled_name::absent) == verdict::foreign);
    CHECK(fence.accept({{9, 9}, attempt_number{1}, right.token}, journalled_name::absent) == verdict::foreign);
}

TEST_CASE(
    "a token of an earlier epoch that the journal does not have is foreign, so no node fills the disk with evidence") {
    auto fence = new_fence(1'000);
    for (std::uint64_t epoch = 1; epoch < 1'000; ++epoch) {
        const assignment_name made_up{one_run, attempt_number{1}, {epoch, 7}};
        CHECK(fence.must_ask(made_up));
        CHECK(fence.accept(made_up, journalled_name::absent) == verdict::foreign);
    }
    CHECK(fence.accept({one_run, attempt_number{1}, {5, 7}}, journalled_name::assigned) == verdict::evidence);
    CHECK(fence.open_assignments() + fence.kept_results() == 0);
}

TEST_CASE("after a restart open assignments count, tokens grow on, and the journal knows what was taken") {
    auto before = new_fence();
    const auto kept = before.assign({0, 0}, attempt_number{1}).value();
    const auto taken = before.assign({0, 1}, attempt_number{1}).value();
    CHECK(before.accept(taken, journalled_name::assigned) == verdict::counts);
    CHECK(before.durable(taken));
    auto after = new_fence(2, {kept});
    CHECK(after.must_ask(taken));
    CHECK(after.accept(taken, journalled_name::taken) == verdict::repeated);
    CHECK(after.assign({0, 2}, attempt_number{1}).value().token > taken.token);
    CHECK(after.accept(kept, journalled_name::assigned) == verdict::counts);
}

TEST_CASE("a journal whose assignments are not older than the coordinator, or are two for one run, is refused") {
    CHECK_FALSE(result_fence::open(2, {{one_run, attempt_number{1}, {2, 1}}}));
    CHECK_FALSE(result_fence::open(3, {{one_run, attempt_number{1}, {1, 1}}, {one_run, attempt_number{2}, {1, 2}}}));
}

namespace {

/// Runs that are given out, lost and ended; a journal that is slow, may refuse, and outlives its coordinator; nodes
/// that keep a result until they are told that it is taken or does not count, and one that makes names up.
class fenced_world {
  public:
    explicit fenced_world(std::uint32_t seed) : dice_(seed) {}

    /// False: something was said or done that must not be.
    bool step() {
        const run_key run{roll(20), roll(20)};
        const auto action = roll(100);
        if (action < 30) {
            return assign(run);
        }
        if (action < 40) {
            return give_up(run);
        }
        if (action < 75) {
            return offer();
        }
        if (action < 80) {
            return make_up(run);
        }
        return action < 99 ? journal_answers() : restart();
    }

    /// Runs whose result the journal has.
    [[nodiscard]] std::size_t ended() const { return taken_.size(); }
    [[nodiscard]] unsigned refused() const { return refused_; }
    [[nodiscard]] unsigned early() const { return early_; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  private:
    std::size_t roll(std::size_t sides) { return std::uniform_int_distribution<std::size_t>(0, sides - 1)(dice_); }

    [[nodiscard]] bool is_taken(const assignment_name& what) const {
        const auto found = taken_.find(what.run);
        return found != taken_.end() && found->second == what;
    }
    [[nodiscard]] journalled_name journal_has(const assignment_name& what) const {
        if (is_taken(what)) {
            return journalled_name::taken;
        }
        const auto found = started_.find(what.token);
        return found != started_.end() && found->second == what ? journalled_name::assigned : journalled_name::absent;
    }
    result_standing accept(const assignment_name& what) {
        return fence_.accept(what, fence_.must_ask(what) ? journal_has(what) : journalled_name::absent);
    }

    bool assign(run_key run) {
        const bool busy = open_.contains(run);
        if (taken_.contains(run) && !busy) {
            return true; // the schedule does not ask
        }
        const auto made = fence_.assign(run, attempt_number{attempts_[run] + 1});
        if (busy || !made) {
            return busy && !made;
        }
        ++attempts_[run];
        const bool grows = started_.empty() || made->token > started_.rbegin()->first;
        started_.emplace(made->token, *made);
        open_.emplace(run, *made);
        at_nodes_.push_back(*made);
        return grows;
    }

    bool give_up(run_key run) {
        const auto found = open_.find(run);
        if (found == open_.end()) {
            return true;
        }
        const bool waits = to_journal_.contains(run);
        const bool closed = fence_.give_up(found->second);
        if (waits) {
            given_up_.insert(run);
        } else {
            open_.erase(found);
        }
        return closed != waits;
    }

    bool offer() {
        if (at_nodes_.empty()) {
            return true;
        }
        const auto which = at_nodes_.begin() + static_cast<std::ptrdiff_t>(roll(at_nodes_.size()));
        const assignment_name name = *which;
        const auto found = open_.find(name.run);
        const bool is_open = found != open_.end() && found->second == name;
        switch (accept(name)) {
        case verdict::counts:
            return is_open && to_journal_.emplace(name.run, name).second;
        case verdict::under_way:
            ++early_;
            return is_open && to_journal_.contains(name.run);
        case verdict::repeated:
            at_nodes_.erase(which); // the node's copy is gone: woe if the journal has none
            return is_taken(name);
        case verdict::evidence:
            at_nodes_.erase(which);
            return !is_open && !is_taken(name);
        case verdict::foreign:
            break;
        }
        return false;
    }

    bool make_up(run_key run) {
        const assignment_name name{run, attempt_number{1}, {1 + roll(epoch_), 1'000'000 + roll(1'000)}};
        return accept(name) == verdict::foreign;
    }

    bool journal_answers() {
        if (to_journal_.empty()) {
            return true;
        }
        const auto which = to_journal_.begin();
        const auto [run, name] = *which;
        to_journal_.erase(which);
        const bool was_given_up = given_up_.erase(run) != 0;
        if (roll(4) != 0) {
            open_.erase(run);
            return taken_.emplace(run, name).second && fence_.durable(name);
        }
        ++refused_;
        if (was_given_up) {
            open_.erase(run);
        }
        return fence_.withdraw(name) == was_given_up;
    }

    bool restart() {
        for (const auto& [run, name] : to_journal_) {
            if (roll(2) == 0) { // was written, and nobody was told
                open_.erase(run);
                taken_.emplace(run, name);
            }
        }
        to_journal_.clear();
        given_up_.clear();
        std::vector<assignment_name> journalled;
        for (const auto& [run, name] : open_) {
            journalled.push_back(name);
        }
        fence_ = new_fence(++epoch_, journalled);
        return true;
    }

    std::mt19937 dice_;
    std::uint64_t epoch_ = 1;
    result_fence fence_ = new_fence();
    std::map<run_key, std::uint32_t> attempts_;
    std::map<run_key, assignment_name> open_;       ///< as the fence should have it
    std::map<run_key, assignment_name> to_journal_; ///< results on their way
    std::set<run_key> given_up_;                    ///< meanwhile
    std::map<fencing_token, assignment_name> started_;
    std::map<run_key, assignment_name> taken_;
    std::vector<assignment_name> at_nodes_; ///< results that nodes keep
    unsigned refused_ = 0;
    unsigned early_ = 0;
};

} // namespace

TEST_CASE(
    "whatever is lost, repeated, refused by the journal and restarted, each run gets one result and none is lost") {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        CAPTURE(seed);
        fenced_world world(seed);
        bool sound = true;
        for (int i = 0; i < 30'000 && sound; ++i) {
            sound = world.step();
        }
        REQUIRE(sound);
        CHECK(world.ended() == 400);
        CHECK(world.refused() > 50);
        CHECK(world.early() > 50);
        CHECK(world.epoch() > 100);
    }
}
