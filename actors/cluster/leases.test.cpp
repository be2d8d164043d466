/// A coordinator's book and a node's clock over a bad network, with clocks that are off: never may the coordinator call
/// a lease ended while the node would still run under it.
#include "actors/cluster/lease_book.hpp"
#include "actors/cluster/lease_clock.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

using true_time = std::chrono::nanoseconds; ///< since the start of the world

template<class Time>
struct off_clock { ///< runs by `per_million` too fast, or too slow below 0
    std::int64_t per_million = 0;
    std::chrono::nanoseconds origin{0};
    [[nodiscard]] Time at(true_time now) const {
        return Time(origin + now + std::chrono::nanoseconds(now.count() / 1'000'000 * per_million));
    }
};

struct question_under_way {
    lease_number number;
    lease_clock::question what;
};
struct answer_under_way {
    lease_number number;
    lease_clock::question what;
    milliseconds length{0};
};

class bad_world {
  public:
    bad_world(std::uint32_t seed, std::int64_t most_off) : dice_(seed) {
        const auto off = [&] { return std::uniform_int_distribution<std::int64_t>(-most_off, most_off)(dice_); };
        coordinator_.per_million = off();
        node_.per_million = off();
        node_.origin = std::chrono::hours(roll(100'000));
        terms_.length = milliseconds(1'000 + roll(20'000));
        terms_.stop_margin = milliseconds(roll(500));
        terms_.spare = 0ms; // so that the clocks alone are what is tested
        loss_ = roll(60);
        slowest_ = 1 + roll(static_cast<unsigned>(terms_.length.count()) * 2);
        reopen({});
    }

    /// False: the coordinator has called a lease ended that the node held.
    bool step() {
        now_ += milliseconds(1 + roll(200));
        deliver();
        const auto at_node = node_.at(now_);
        if (!node_frozen_ && (!clock_ || clock_->standing(at_node) == lease_standing::stopping)) {
            join();
        }
        if (!node_frozen_ && clock_ && roll(100) < 40) {
            send_question();
        }
        if (roll(1'000) < (node_frozen_ ? 10U : 5U)) {
            node_frozen_ = !node_frozen_; // SIGSTOP, SIGCONT; suspended
        }
        if (roll(1'000) < 1) {
            restart_coordinator();
        }
        return end_leases();
    }

    [[nodiscard]] unsigned ends() const { return ends_; }
    [[nodiscard]] unsigned renewals() const { return renewals_; }

  private:
    unsigned roll(unsigned sides) { return std::uniform_int_distribution<unsigned>(0, sides - 1)(dice_); }
    [[nodiscard]] bool lost() { return roll(100) < loss_; }
    [[nodiscard]] true_time arrives() { return now_ + milliseconds(roll(slowest_)); }

    void reopen(const std::vector<lease>& journalled) {
        book_.emplace(lease_book::open(terms_, ++epoch_, journalled, coordinator_.at(now_)).value());
    }

    void restart_coordinator() {
        now_ += milliseconds(roll(30'000));
        std::vector<lease> journalled;
        if (const auto known = book_->of(who_)) {
            journalled.push_back(*known);
        }
        terms_.length = milliseconds(1'000 + roll(20'000)); // and somebody has changed the setting
        terms_.stop_margin = std::min(terms_.stop_margin, terms_.length / 2);
        reopen(journalled);
    }

    void join() {
        const auto granted = book_->grant(who_);
        if (!granted) {
            return; // the old one has not surely ended
        }
        clock_.emplace(terms_.stop_margin);
        const auto what = clock_->ask(node_.at(now_));
        now_ += milliseconds(roll(300)); // the journal
        static_cast<void>(book_->held(who_, granted->number, coordinator_.at(now_)));
        number_ = granted->number;
        if (!lost()) {
            answers_.emplace(arrives(), answer_under_way{granted->number, what, granted->length});
        }
    }

    void send_question() {
        const auto what = clock_->ask(node_.at(now_));
        if (!lost()) {
            questions_.emplace(arrives(), question_under_way{number_, what});
        }
    }

    void deliver() {
        while (!questions_.empty() && questions_.begin()->first <= now_) {
            const auto q = questions_.begin()->second;
            questions_.erase(questions_.begin());
            const auto renewed = book_->renew(who_, q.number, coordinator_.at(now_));
            if (renewed && !lost()) {
                answers_.emplace(arrives(), answer_under_way{q.number, q.what, renewed->length});
            }
        }
        while (!node_frozen_ && !answers_.empty() && answers_.begin()->first <= now_) {
            const auto a = answers_.begin()->second;
            answers_.erase(answers_.begin());
            if (clock_ && clock_->answered(a.what, a.length, node_.at(now_))) {
                ++renewals_;
            }
        }
    }

    bool end_leases() {
        for (const auto& ended : book_->take_ended(coordinator_.at(now_))) {
            ++ends_;
            // What a process in the sandbox, which was told `until` and is not frozen, goes by.
            const bool same = clock_ && ended.number == number_;
            if (same && clock_->until() && node_.at(now_) < *clock_->until()) {
                return false;
            }
            if (same && clock_->standing(node_.at(now_)) == lease_standing::running) {
                return false;
            }
        }
        return true;
    }

    std::mt19937 dice_;
    const node_id who_ = node_id::parse("n").value();
    lease_terms terms_;
    off_clock<coordinator_time> coordinator_;
    off_clock<node_time> node_;
    true_time now_{0};
    unsigned loss_ = 0;
    unsigned slowest_ = 1;
    std::uint64_t epoch_ = 0;
    std::optional<lease_book> book_;
    std::optional<lease_clock> clock_;
    lease_number number_;
    bool node_frozen_ = false;
    unsigned ends_ = 0;
    unsigned renewals_ = 0;
    std::multimap<true_time, question_under_way> questions_;
    std::multimap<true_time, answer_under_way> answers_;
};

} // namespace

TEST_CASE("no lease is called ended while its node runs, whatever the network, the clocks and restarts do") {
    unsigned ends = 0;
    unsigned renewals = 0;
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        bad_world world(seed, 1'000);
        bool sound = true;
        for (int i = 0; i < 2'000 && sound; ++i) {
            sound = world.step();
        }
        REQUIRE(sound);
        ends += world.ends();
        renewals += world.renewals();
    }
    CHECK(ends > 150); // the worlds are bad enough, and not too bad
    CHECK(renewals > 5'000);
}

TEST_CASE("the bound on clocks is the one that counts: at its edge nothing overlaps, far beyond it something does") {
    const auto gap = [](std::int64_t off) { // the true time from the node's end to the coordinator's
        lease_terms terms{.length = 100s, .stop_margin = 0s, .spare = 0s, .drift = 1'000};
        const off_clock<coordinator_time> fast{off, {}};
        const off_clock<node_time> slow{-off, {}};
        const auto node = node_id::parse("n").value();
        auto book = lease_book::open(terms, 1, {}, fast.at(0s)).value();
        const auto made = book.grant(node).value();
        REQUIRE(book.held(node, made.number, fast.at(0s)));
        lease_clock clock(0s);
        REQUIRE(clock.answered(clock.ask(slow.at(0s)), made.length, slow.at(0s)));
        true_time now{0};
        true_time stopped{0};
        true_time ended{0};
        while (stopped == 0s || ended == 0s) {
            now += 1ms;
            if (stopped == 0s && clock.standing(slow.at(now)) == lease_standing::stopping) {
                stopped = now;
            }
            if (ended == 0s && !book.take_ended(fast.at(now)).empty()) {
                ended = now;
            }
        }
        return ended - stopped;
    };
    CHECK(gap(1'000) >= 0ms);
    CHECK(gap(1'000) <= 2ms);
    CHECK(gap(2'000) < 0ms);
}
