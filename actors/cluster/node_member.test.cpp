#include "actors/cluster/node_member.hpp"

#include "protocol/core/overloaded.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;
namespace does = chalk::actors::member_decision;

namespace {

constexpr milliseconds lease_length{60'000};

assignment_name attempt_of(std::uint64_t index, std::uint64_t count = 0) {
    return {{0, index}, attempt_number{1}, {1, count == 0 ? index + 1 : count}};
}

/// A member, and what it decided and nobody has looked at. Every decision has to be taken.
struct one_node {
    explicit one_node(std::optional<lease_number> found = {}, const std::vector<assignment_name>& kept = {},
                      node_member_rules rules = {})
        : member(rules, found, kept) {}
    ~one_node() {
        gather();
        CHECK(left.empty());
    }
    one_node(const one_node&) = delete;
    one_node& operator=(const one_node&) = delete;

    node_member member;
    node_time now{std::chrono::hours(5)};
    std::vector<node_member_decision> left;

    void gather() {
        for (auto& one : member.take_decisions()) {
            left.push_back(std::move(one));
        }
    }
    template<class T>
    T next() {
        gather();
        INFO("next of " << left.size());
        REQUIRE_FALSE(left.empty());
        INFO("it is number " << left.front().index());
        REQUIRE(std::holds_alternative<T>(left.front()));
        T one = std::get<T>(left.front());
        left.erase(left.begin());
        return one;
    }
    bool nothing() {
        gather();
        return left.empty();
    }
    void pass(milliseconds time) {
        now += time;
        member.tick(now);
    }

    does::say_kept join(lease_number number = {1, 1}, lease_number held = {}) {
        member.link_up(now);
        const auto hello = next<does::say_hello>();
        CHECK(hello.held == held);
        member.granted(number, lease_length, hello.asked, now);
        if (number != held) {
            CHECK(next<does::note_lease>().number == number);
        }
        CHECK(next<does::move_lease>().until == now + lease_length);
        return next<does::say_kept>();
    }
    void start(const assignment_name& name) {
        member.assigned(name, "sheet", now);
        CHECK(next<does::make_run>().name == name);
        CHECK(member.may_start(name, now));
    }
    void end(const assignment_name& name) {
        CHECK(member.ended(name, false, now));
        CHECK(nothing());
        member.kept(name, now);
    }
    void deliver(const assignment_name& name) {
        CHECK(next<does::land_files>().name == name);
        member.landed(name, true, now);
        CHECK(next<does::say_ended>().name == name);
    }
    void deliver_both(const assignment_name& first, const assignment_name& second) {
        CHECK(next<does::land_files>().name == first);
        CHECK(next<does::land_files>().name == second);
        for (const auto& name : {first, second}) {
            member.landed(name, true, now);
            CHECK(next<does::say_ended>().name == name);
        }
    }
    void take(const assignment_name& name) {
        member.taken(name, now);
        CHECK(next<does::forget_run>().name == name);
    }
};

} // namespace

TEST_CASE("a node asks, is let in, runs what it is given, and forgets a result when it was taken") {
    one_node n;
    n.member.assigned(attempt_of(0), "sheet", n.now);
    CHECK(n.nothing()); // nothing starts without a lease
    const auto has = n.join();
    CHECK(has.running.empty());
    CHECK(has.ended.empty());
    n.start(attempt_of(0));
    n.member.assigned(attempt_of(0), "sheet", n.now); // said twice
    n.end(attempt_of(0));
    n.member.assigned(attempt_of(0), "sheet", n.now);
    n.deliver(attempt_of(0));
    CHECK(n.member.size() == 1);
    n.take(attempt_of(0));
    CHECK(n.member.size() == 0);
}

TEST_CASE("a node asks again every sixth of its lease, and goes on as long as it is answered") {
    one_node n;
    n.join();
    n.start(attempt_of(0));
    for (int i = 0; i < 20; ++i) {
        CHECK(n.member.next_due() == n.now + lease_length / 6);
        n.pass(lease_length / 6);
        const auto asked = n.next<does::say_renewal>();
        CHECK(asked.number == lease_number{1, 1});
        n.pass(300ms);
        n.member.renewed(asked.number, lease_length, asked.asked, n.now);
        CHECK(n.next<does::move_lease>().until == n.now - 300ms + lease_length);
        n.now -= 300ms; // so that the sixths stay whole
    }
    CHECK(n.member.live_lease());
}

TEST_CASE(
    "a node without answers stops its runs before its lease ends, gives it up when they are dead, and asks anew") {
    one_node n;
    n.join();
    n.start(attempt_of(0));
    n.start(attempt_of(1));
    n.member.assigned(attempt_of(2), "sheet", n.now);
    n.next<does::make_run>();
    lease_clock::question last{};
    for (int i = 0; i < 5; ++i) {
        n.pass(10s);
        last = n.next<does::say_renewal>().asked;
    }
    n.pass(4999ms);
    CHECK(n.nothing());
    CHECK(n.member.next_due() == n.now + 1ms);
    n.pass(1ms);
    n.next<does::stop_runs>();
    n.next<does::say_word>();
    CHECK_FALSE(n.member.live_lease());
    n.member.renewed({1, 1}, lease_length, last, n.now); // too late
    n.member.assigned(attempt_of(3), "sheet", n.now);
    CHECK(n.nothing());
    CHECK_FALSE(n.member.may_start(attempt_of(2), n.now)); // its order was being made
    CHECK(n.next<does::forget_run>().name == attempt_of(2));
    CHECK_FALSE(n.member.ended(attempt_of(0), true, n.now)); // killed: it is lost with the lease
    CHECK(n.next<does::forget_run>().name == attempt_of(0));
    CHECK(n.member.ended(attempt_of(1), false, n.now)); // it had ended by itself
    CHECK(n.nothing());
    n.member.kept(attempt_of(1), n.now);
    n.deliver(attempt_of(1)); // before the lease is given up
    CHECK(n.next<does::say_given_up>().number == lease_number{1, 1});
    const auto hello = n.next<does::say_hello>();
    CHECK(hello.held == lease_number{});
    n.member.granted({1, 2}, lease_length, hello.asked, n.now);
    n.next<does::note_lease>();
    n.next<does::move_lease>();
    CHECK(n.next<does::say_kept>().ended == std::set{attempt_of(1)});
    n.take(attempt_of(1));
}

TEST_CASE("a run goes on over a lost link, and its result is offered on the next one until it is taken") {
    one_node n;
    n.join();
    n.start(attempt_of(0));
    n.start(attempt_of(1));
    n.end(attempt_of(1));
    n.deliver(attempt_of(1));
    n.member.link_lost(n.now);
    n.pass(20s);
    n.end(attempt_of(0));
    CHECK(n.nothing()); // no link
    const auto has = n.join({1, 1}, {1, 1});
    CHECK(has.running.empty());
    CHECK(has.ended == std::set{attempt_of(0), attempt_of(1)});
    CHECK(n.next<does::land_files>().name == attempt_of(0));
    CHECK(n.next<does::land_files>().name == attempt_of(1));
    n.member.landed(attempt_of(1), true, n.now);
    CHECK(n.next<does::say_ended>().name == attempt_of(1));
    n.member.landed(attempt_of(0), false, n.now); // their connection broke
    CHECK(n.nothing());
    CHECK(n.member.next_due() == n.now + 5s);
    n.pass(5s);
    n.deliver(attempt_of(0));
    n.take(attempt_of(0));
    n.take(attempt_of(1));
}

TEST_CASE("an answer to a hello of an earlier link is none") {
    one_node n;
    n.member.link_up(n.now);
    const auto first = n.next<does::say_hello>();
    n.member.link_lost(n.now);
    n.pass(1s);
    n.member.link_up(n.now);
    const auto second = n.next<does::say_hello>();
    n.member.granted({1, 1}, lease_length, first.asked, n.now);
    CHECK(n.nothing());
    CHECK_FALSE(n.member.live_lease());
    n.member.granted({1, 2}, lease_length, second.asked, n.now);
    n.next<does::note_lease>();
    n.next<does::move_lease>();
    n.next<does::say_kept>();
    CHECK(n.member.live_lease() == lease_number{1, 2});
}

TEST_CASE("a lease that comes too late to be used is asked for once more") {
    one_node n;
    n.member.link_up(n.now);
    const auto hello = n.next<does::say_hello>();
    n.pass(56s);
    n.next<does::cut_off_link>(); // which the test does not do
    n.member.granted({1, 1}, lease_length, hello.asked, n.now);
    n.next<does::note_lease>();
    const auto again = n.next<does::say_hello>();
    CHECK(again.held == lease_number{1, 1});
    n.member.granted({1, 1}, lease_length, again.asked, n.now);
    n.next<does::note_lease>();
    n.next<does::move_lease>();
    n.next<does::say_kept>();
    CHECK(n.member.live_lease());
}

TEST_CASE("a node whose lease the coordinator has ended kills what ran under it before another begins") {
    one_node n;
    n.join();
    n.start(attempt_of(0));
    SECTION("and says so to a question") {
        n.member.over({1, 1}, n.now);
        n.next<does::stop_runs>();
        n.next<does::say_word>();
        CHECK(n.nothing());
        CHECK_FALSE(n.member.ended(attempt_of(0), true, n.now));
        n.next<does::forget_run>();
        CHECK(n.next<does::say_hello>().held == lease_number{});
    }
    SECTION("and grants another one on the next link") {
        n.member.link_lost(n.now);
        n.member.link_up(n.now);
        const auto hello = n.next<does::say_hello>();
        CHECK(hello.held == lease_number{1, 1});
        n.member.granted({1, 2}, lease_length, hello.asked, n.now);
        CHECK(n.next<does::note_lease>().number == lease_number{1, 2});
        n.next<does::stop_runs>();
        n.next<does::say_word>();
        CHECK(n.nothing());
        CHECK_FALSE(n.member.ended(attempt_of(0), true, n.now));
        n.next<does::forget_run>();
        CHECK(n.next<does::say_hello>().held == lease_number{1, 2});
    }
}

TEST_CASE("a node that was started again delivers what it finds, gives its old lease up, and joins anew") {
    one_node n(lease_number{1, 9}, {attempt_of(4), attempt_of(5)});
    n.member.link_up(n.now);
    const auto hello = n.next<does::say_hello>();
    CHECK(hello.held == lease_number{1, 9});
    n.member.granted({1, 9}, lease_length, hello.asked, n.now);
    const auto has = n.next<does::say_kept>();
    CHECK(has.running.empty());
    CHECK(has.ended == std::set{attempt_of(4), attempt_of(5)});
    CHECK(n.next<does::land_files>().name == attempt_of(4));
    CHECK(n.next<does::land_files>().name == attempt_of(5));
    n.member.assigned(attempt_of(6), "sheet", n.now); // said again, since the node does not have it
    CHECK(n.nothing());
    n.member.landed(attempt_of(4), true, n.now);
    n.next<does::say_ended>();
    n.take(attempt_of(4));
    SECTION("when all is taken") {
        n.member.landed(attempt_of(5), true, n.now);
        n.next<does::say_ended>();
        CHECK(n.nothing());
        n.take(attempt_of(5));
    }
    SECTION("or after a lease's time") {
        CHECK(n.member.next_due() == n.now + lease_length);
        n.pass(lease_length);
    }
    CHECK(n.next<does::say_given_up>().number == lease_number{1, 9});
    CHECK(n.next<does::say_hello>().held == lease_number{});
}

TEST_CASE("what the coordinator drops is stopped and forgotten, wherever it is") {
    one_node n;
    n.join();
    n.member.assigned(attempt_of(0), "sheet", n.now);
    n.next<does::make_run>();
    n.member.dropped(attempt_of(0), n.now);
    CHECK_FALSE(n.member.may_start(attempt_of(0), n.now));
    n.next<does::forget_run>();

    n.start(attempt_of(1));
    n.member.dropped(attempt_of(1), n.now);
    CHECK(n.next<does::stop_run>().name == attempt_of(1));
    n.member.dropped(attempt_of(1), n.now);
    CHECK_FALSE(n.member.ended(attempt_of(1), false, n.now));
    n.next<does::forget_run>();

    n.start(attempt_of(2));
    CHECK(n.member.ended(attempt_of(2), false, n.now));
    n.member.dropped(attempt_of(2), n.now);
    CHECK(n.nothing()); // it is being written
    n.member.kept(attempt_of(2), n.now);
    n.next<does::forget_run>();

    n.start(attempt_of(3));
    n.end(attempt_of(3));
    n.next<does::land_files>();
    n.member.dropped(attempt_of(3), n.now);
    n.next<does::forget_run>();
    n.member.landed(attempt_of(3), true, n.now);
    n.member.dropped(attempt_of(99), n.now);
    CHECK(n.nothing());
    CHECK(n.member.size() == 0);
}

TEST_CASE("no more results are on their way than the coordinator has credit for") {
    one_node n({}, {}, {.most_offered = 2});
    n.join();
    for (std::uint64_t i = 0; i < 5; ++i) {
        n.start(attempt_of(i));
    }
    for (std::uint64_t i = 0; i < 5; ++i) {
        CHECK(n.member.ended(attempt_of(i), false, n.now));
        n.member.kept(attempt_of(i), n.now);
    }
    n.deliver_both(attempt_of(0), attempt_of(1));
    CHECK(n.nothing());
    n.take(attempt_of(1));
    n.deliver(attempt_of(2));
    n.member.link_lost(n.now);
    n.pass(1s);
    n.join({1, 1}, {1, 1});
    n.deliver_both(attempt_of(0), attempt_of(2));
    CHECK(n.nothing());
    for (const std::uint64_t i : {0U, 2U}) {
        n.take(attempt_of(i));
        n.deliver(attempt_of(i == 0 ? 3 : 4));
    }
    n.take(attempt_of(3));
    n.take(attempt_of(4));
}

TEST_CASE("when the sweep is over the lease is given up, and the node waits for the next") {
    one_node n;
    n.join();
    n.start(attempt_of(0));
    n.member.sweep_over(n.now);
    n.member.assigned(attempt_of(1), "sheet", n.now);
    CHECK(n.nothing());
    n.end(attempt_of(0));
    n.deliver(attempt_of(0));
    CHECK(n.nothing());
    n.take(attempt_of(0));
    CHECK(n.next<does::say_given_up>().number == lease_number{1, 1});
    CHECK_FALSE(n.member.next_due());
    SECTION("over this link") {
        n.join({1, 2});
    }
    SECTION("over another") {
        n.member.link_lost(n.now);
        n.pass(std::chrono::hours(3));
        n.join({1, 2});
    }
}

TEST_CASE("a node that quits kills its runs, delivers what has ended, and gives its lease up") {
    one_node n;
    n.join();
    n.start(attempt_of(0));
    n.start(attempt_of(1));
    n.end(attempt_of(1));
    n.deliver(attempt_of(1));
    n.member.quit(n.now);
    n.next<does::stop_runs>();
    n.next<does::say_word>();
    CHECK_FALSE(n.member.ended(attempt_of(0), true, n.now));
    n.next<does::forget_run>();
    CHECK(n.nothing());
    SECTION("when it is answered") {
        n.take(attempt_of(1));
        n.next<does::say_given_up>();
    }
    SECTION("or keeps it for its next process") {
        n.pass(10s);
    }
    SECTION("or cannot say so") {
        n.member.link_lost(n.now);
    }
    n.next<does::leave>();
}

TEST_CASE("a node that has nothing quits at once, and one that was refused does too") {
    one_node n;
    SECTION("without a link") {}
    SECTION("refused") {
        n.member.link_up(n.now);
        n.next<does::say_hello>();
        n.member.refused();
    }
    n.member.quit(n.now);
    n.next<does::leave>();
    n.pass(std::chrono::hours(1));
}
