#include "protocol/gateway/concurrency.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using chalk::gateway::concurrency;
using how = concurrency::how;

namespace {

const concurrency::time_point start{};
constexpr milliseconds ms(int n) {
    return milliseconds(n);
}

} // namespace

TEST_CASE("as many requests go on as the limit says, the others in the order of asking") {
    concurrency all({.first = 2});
    for (const std::uint64_t who : {1U, 2U, 3U, 4U}) {
        all.ask(who);
    }
    CHECK(all.admit(start) == std::vector<std::uint64_t>{1, 2});
    CHECK(all.admit(start).empty());
    all.ended(how::other, start, start + ms(1));
    CHECK(all.admit(start) == std::vector<std::uint64_t>{3});
    CHECK(all.waiting() == 1);
}

TEST_CASE("a round that went well at the limit adds one") {
    concurrency all({.first = 4});
    for (int round = 0; round < 4; ++round) {
        all.ask(1);
        while (all.under_way() < 4) {
            all.ask(1);
            (void)all.admit(start);
        }
        all.ended(how::well, start, start);
    }
    CHECK(all.limit() > 4.9);
    CHECK(all.limit() < 5.0);
}

TEST_CASE("a limit that is not reached does not grow, nor does it pass its end") {
    concurrency idle({.first = 4});
    idle.ask(1);
    (void)idle.admit(start);
    idle.ended(how::well, start, start);
    CHECK(idle.limit() == 4);
    concurrency high({.first = 1, .most = 1.5});
    for (int i = 0; i < 5; ++i) {
        high.ask(1);
        (void)high.admit(start);
        high.ended(how::well, start, start);
    }
    CHECK(high.limit() == 1.5);
}

TEST_CASE("requests of one burst that are refused together halve the limit once") {
    concurrency all({.first = 8});
    for (std::uint64_t who = 0; who < 8; ++who) {
        all.ask(who);
    }
    (void)all.admit(start);
    for (int i = 0; i < 8; ++i) {
        all.ended(how::limited, start, start + ms(10 + i));
    }
    CHECK(all.limit() == 4);
    // One that was sent after the cut is a new word.
    all.ask(9);
    (void)all.admit(start + ms(20));
    all.ended(how::limited, start + ms(20), start + ms(30));
    CHECK(all.limit() == 1); // only one was under way
    all.ask(10);
    (void)all.admit(start + ms(40));
    all.ended(how::limited, start + ms(40), start + ms(50));
    CHECK(all.limit() == 1); // never none
}

TEST_CASE("a wait that the provider asks for holds everybody") {
    concurrency all({.first = 2});
    all.ask(1);
    (void)all.admit(start);
    all.ended(how::limited, start, start, ms(500));
    CHECK_FALSE(all.wakes_at());
    all.ask(2);
    CHECK(all.wakes_at() == start + ms(500));
    CHECK(all.admit(start + ms(499)).empty());
    CHECK(all.admit(start + ms(500)) == std::vector<std::uint64_t>{2});
    CHECK_FALSE(all.wakes_at());
}

TEST_CASE("who is forgotten is not let in") {
    concurrency all({.first = 1});
    all.ask(1);
    all.ask(2);
    CHECK(all.forget(1));
    CHECK_FALSE(all.forget(1));
    CHECK(all.admit(start) == std::vector<std::uint64_t>{2});
}
