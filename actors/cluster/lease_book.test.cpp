#include "actors/cluster/lease_book.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

constexpr coordinator_time book_start{1h};
constexpr lease_terms minute{.length = 60s, .stop_margin = 5s, .spare = 5s, .drift = 1'000};
const auto sure = minute.sure_wait(60s);

node_id named_node(const std::string& text) {
    return node_id::parse(text).value();
}
const node_id a_node = named_node("a");
const node_id b_node = named_node("b");

lease_book new_book(std::uint64_t epoch = 1, const std::vector<lease>& known = {}) {
    return lease_book::open(minute, epoch, known, book_start).value();
}

lease held_lease(lease_book& book, const node_id& node, coordinator_time now) {
    const lease made = book.grant(node).value();
    REQUIRE(book.held(node, made.number, now));
    return made;
}

} // namespace

TEST_CASE("a lease has surely ended after its length, what two clocks may be off, and the spare time") {
    CHECK(minute.sure_wait(60s) == 60'121ms + 5s); // 60 s * 1.001 / 0.999 = 60.12012 s, rounded up
    CHECK(lease_terms{.spare = 0s, .drift = 0}.sure_wait(60s) == 60s);
    auto book = new_book();
    const lease given = held_lease(book, a_node, book_start);
    CHECK(book.next_end() == book_start + sure);
    CHECK(book.take_ended(book_start + sure - 1ns).empty());
    CHECK(book.take_ended(book_start + sure) == std::vector{lease_ended{a_node, given.number}});
    CHECK(book.size() == 0);
    CHECK_FALSE(book.next_end());
}

TEST_CASE("terms that cannot be kept are refused") {
    CHECK(check_lease_terms(lease_terms{}));
    for (const lease_terms& bad :
         {lease_terms{.length = 999ms, .stop_margin = 0s}, lease_terms{.length = 8 * 24h}, lease_terms{.length = -1s},
          lease_terms{.length = 8s, .stop_margin = 4'001ms}, lease_terms{.stop_margin = -1s}, lease_terms{.spare = -1s},
          lease_terms{.drift = 100'001}}) {
        const auto answer = check_lease_terms(bad);
        REQUIRE_FALSE(answer);
        CHECK(answer.error().kind == error_class::config);
    }
}

TEST_CASE("a grant that is not durable holds nothing") {
    auto book = new_book();
    const lease made = book.grant(a_node).value();
    CHECK_FALSE(book.next_end());
    CHECK_FALSE(book.renew(a_node, made.number, book_start));
    CHECK_FALSE(book.grant(a_node));
    book.withdraw(a_node, made.number);
    CHECK_FALSE(book.held(a_node, made.number, book_start));
    const lease again = book.grant(a_node).value();
    CHECK(again.number > made.number);
    CHECK(book.held(a_node, again.number, book_start + 10s));
    CHECK_FALSE(book.held(a_node, again.number, book_start + 20s));
    CHECK(book.next_end() == book_start + 10s + sure);
    book.withdraw(a_node, again.number); // it holds: too late for that
    CHECK(book.of(a_node) == again);
}

TEST_CASE("a renewal moves the end, and never nearer") {
    auto book = new_book();
    const lease given = held_lease(book, a_node, book_start);
    CHECK(book.renew(a_node, given.number, book_start + 30s).value() == given);
    CHECK(book.next_end() == book_start + 30s + sure);
    CHECK(book.renew(a_node, given.number, book_start + 10s));
    CHECK(book.next_end() == book_start + 30s + sure);
}

TEST_CASE("a lease that has ended is not renewed, not even when its node never heard of the end") {
    auto book = new_book();
    const lease given = held_lease(book, a_node, book_start);
    CHECK(book.take_ended(book_start + 2min).size() == 1);
    const auto late = book.renew(a_node, given.number, book_start + 2min);
    REQUIRE_FALSE(late);
    CHECK(late.error().kind == error_class::node_lost);
    CHECK(late.error().message.find("node a") != std::string::npos);
    const lease next = held_lease(book, a_node, book_start + 2min);
    CHECK(next.number > given.number);
    CHECK_FALSE(book.renew(a_node, given.number, book_start + 2min));
    CHECK(book.renew(a_node, next.number, book_start + 2min));
    CHECK_FALSE(book.renew(b_node, next.number, book_start + 2min));
}

TEST_CASE("a node that gives its lease up is replaced at once, and only by its present lease") {
    auto book = new_book();
    const lease given = held_lease(book, a_node, book_start);
    CHECK_FALSE(book.give_up(a_node, lease_number{1, 99}));
    CHECK_FALSE(book.give_up(b_node, given.number));
    CHECK(book.give_up(a_node, given.number) == lease_ended{a_node, given.number});
    CHECK_FALSE(book.next_end());
    CHECK(book.silent(book_start + 1h).empty());
    CHECK(book.grant(a_node));
}

TEST_CASE("leases end in the order of their ends") {
    auto book = new_book();
    const lease first = held_lease(book, b_node, book_start);
    const lease second = held_lease(book, a_node, book_start + 1s);
    CHECK(book.take_ended(book_start + 1h) ==
          std::vector{lease_ended{b_node, first.number}, lease_ended{a_node, second.number}});
}

TEST_CASE("a coordinator that is started again takes every lease of the journal as just renewed, for its own length") {
    const lease short_one{a_node, {1, 4}, 60s};
    const lease long_one{b_node, {2, 1}, 10min}; // granted under another setting
    auto book = new_book(3, {short_one, long_one});
    CHECK_FALSE(book.grant(a_node));
    CHECK(book.take_ended(book_start + sure - 1ns).empty());
    CHECK(book.renew(b_node, long_one.number, book_start + 1s).value().length == 10min);
    CHECK(book.take_ended(book_start + sure) == std::vector{lease_ended{a_node, short_one.number}});
    CHECK(book.next_end() == book_start + 1s + minute.sure_wait(10min));
    CHECK(book.grant(a_node).value().number == lease_number{3, 1});
}

TEST_CASE("a journal whose leases are not older than the coordinator is refused") {
    const auto same_epoch = lease_book::open(minute, 2, {{a_node, {2, 1}, 60s}}, book_start);
    REQUIRE_FALSE(same_epoch);
    CHECK(same_epoch.error().kind == error_class::harness);
    CHECK_FALSE(lease_book::open(minute, 3, {{a_node, {1, 1}, 60s}, {a_node, {2, 1}, 60s}}, book_start));
}

TEST_CASE("a node that does not ask is silent well before its lease ends") {
    auto book = new_book();
    const lease first = held_lease(book, a_node, book_start);
    static_cast<void>(held_lease(book, b_node, book_start + 1s));
    CHECK(book.silent(book_start + 25s - 1ns).empty());
    CHECK(book.silent(book_start + 25s) == std::vector{a_node});
    CHECK(book.silent(book_start + 30s) == std::vector{a_node, b_node});
    CHECK(book.renew(a_node, first.number, book_start + 30s));
    CHECK(book.silent(book_start + 30s) == std::vector{b_node});
}
