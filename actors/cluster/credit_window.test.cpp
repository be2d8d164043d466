#include "actors/cluster/credit_window.hpp"

#include "tests/support/catch.hpp"

#include <deque>
#include <random>

using namespace chalk::actors;

TEST_CASE("a sender stops at its window and goes on with what is given back") {
    credit_window window(3);
    CHECK(window.take());
    CHECK(window.take(2));
    CHECK_FALSE(window.take());
    CHECK(window.give_back(2));
    CHECK_FALSE(window.take(3));
    CHECK(window.take(2));
    CHECK(window.out() == 3);
}

TEST_CASE("more than was taken cannot be given back") {
    credit_window window(3);
    CHECK_FALSE(window.give_back(1));
    CHECK(window.take());
    CHECK_FALSE(window.give_back(2));
    CHECK_FALSE(window.give_back(UINT64_MAX));
    CHECK(window.out() == 1);
}

TEST_CASE("what is larger than the window goes alone") {
    credit_window window(10);
    CHECK(window.take(1));
    CHECK_FALSE(window.take(11));
    CHECK(window.give_back(1));
    CHECK(window.take(UINT64_MAX));
    CHECK_FALSE(window.take(1));
    CHECK_FALSE(window.take(UINT64_MAX));
    CHECK(credit_window(0).window() == 1);
}

TEST_CASE("a receiver notices a sender that goes past its window") {
    credit_return back(2);
    CHECK(back.arrived());
    CHECK(back.arrived());
    CHECK_FALSE(back.arrived());
    CHECK(back.held() == 2);
}

TEST_CASE("credits go back half a window at a time, and the last ones at once") {
    credit_return back(8);
    for (int i = 0; i < 6; ++i) {
        REQUIRE(back.arrived());
    }
    CHECK(back.done() == 0);
    CHECK(back.done(2) == 0);
    CHECK(back.done() == 4);
    CHECK(back.done() == 0);
    CHECK(back.done() == 2);
    CHECK(back.done(5) == 0); // there was nothing
    CHECK(back.held() == 0);
}

TEST_CASE("a stream of any sizes never stalls and never has more than a window under way") {
    std::mt19937 dice(3);
    const auto roll = [&](std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(1, most)(dice); };
    for (int round = 0; round < 100; ++round) {
        const std::uint64_t size = roll(50);
        credit_window window(size);
        credit_return back(size);
        std::deque<std::uint64_t> wire;
        std::deque<std::uint64_t> todo;
        std::uint64_t sent = 0;
        std::uint64_t idle = 0;
        for (std::uint64_t next = roll(60); sent < 1'000 && idle < 1'000;) {
            ++idle;
            const auto before = window.out();
            if (window.take(next)) {
                REQUIRE((window.out() <= size || before == 0));
                wire.push_back(next);
                next = roll(60);
                ++sent;
                idle = 0;
            }
            if (roll(2) == 1 && !wire.empty()) {
                REQUIRE(back.arrived(wire.front()));
                todo.push_back(wire.front());
                wire.pop_front();
            }
            if (roll(3) == 1 && !todo.empty()) {
                REQUIRE(window.give_back(back.done(todo.front())));
                todo.pop_front();
            }
        }
        REQUIRE(sent == 1'000);
    }
}
