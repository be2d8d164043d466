#include "actors/supervision/deadline_queue.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {
constexpr deadline_queue::clock::time_point start{};
using passed = deadline_queue::passed;
} // namespace

TEST_CASE("deadlines pass in the order of their times, whoever set them first") {
    deadline_queue q;
    q.set(1, 10, start + 3s);
    q.set(2, 20, start + 1s);
    q.set(3, 30, start + 9s);
    CHECK(q.take_passed(start).empty());
    CHECK(q.take_passed(start + 3s) == std::vector<passed>{{2, 20}, {1, 10}});
    CHECK(q.size() == 1);
}

TEST_CASE("a new deadline takes the place of its owner's old one") {
    deadline_queue q;
    q.set(1, 1, start + 1s);
    q.set(1, 2, start + 5s);
    CHECK(q.take_passed(start + 2s).empty());
    CHECK(q.take_passed(start + 5s) == std::vector<passed>{{1, 2}});
}

TEST_CASE("a cleared deadline never passes") {
    deadline_queue q;
    q.set(1, 1, start + 1s);
    q.clear(1);
    q.clear(7);
    CHECK(q.take_passed(start + 1h).empty());
}

TEST_CASE("one timer serves any number of later deadlines") {
    deadline_queue q;
    CHECK_FALSE(q.arm(start));
    q.set(1, 1, start + 10s);
    CHECK(q.arm(start) == 10s);
    for (std::uint64_t i = 2; i < 1000; ++i) {
        q.set(i, 1, start + 10s + std::chrono::milliseconds(i));
        REQUIRE_FALSE(q.arm(start));
    }
}

TEST_CASE("an earlier deadline gets a timer of its own, and the rest are armed again when it came") {
    deadline_queue q;
    q.set(1, 1, start + 10s);
    CHECK(q.arm(start) == 10s);
    q.set(2, 1, start + 2s);
    CHECK(q.arm(start + 1s) == 1s);
    q.timer_fired(start + 2s);
    CHECK(q.take_passed(start + 2s) == std::vector<passed>{{2, 1}});
    CHECK_FALSE(q.arm(start + 2s)); // the first timer still runs
    q.timer_fired(start + 10s);
    CHECK(q.take_passed(start + 10s) == std::vector<passed>{{1, 1}});
    CHECK_FALSE(q.arm(start + 10s));
}

TEST_CASE("a deadline that lies in the past is due at once") {
    deadline_queue q;
    q.set(1, 1, start + 1s);
    CHECK(q.arm(start + 5s) == 0s);
}

TEST_CASE("after a time in which nobody could look, deadlines pass later by that time and a moment to hear") {
    deadline_queue q;
    q.set(1, 1, start + 10s);
    q.set(2, 1, start + 90s);
    CHECK(q.arm(start) == 10s);
    q.timer_fired(start + 70s);
    CHECK(q.take_passed(start + 70s).empty());
    CHECK(q.arm(start + 70s) == deadline_queue::hearing);
    q.clear(1); // what it waited for had happened meanwhile
    q.timer_fired(start + 72s);
    CHECK(q.take_passed(start + 72s).empty());
    CHECK(q.take_passed(start + 151s).empty());
    CHECK(q.take_passed(start + 152s) == std::vector<passed>{{2, 1}});
}

TEST_CASE("on a machine that is always late a deadline passes all the same") {
    deadline_queue q;
    auto now = start;
    q.set(1, 1, now + 10s);
    unsigned late = 0;
    while (q.size() > 0) {
        const auto wait = q.arm(now);
        REQUIRE(wait);
        now += *wait + 5s;
        q.timer_fired(now);
        static_cast<void>(q.take_passed(now));
        REQUIRE(++late <= deadline_queue::most_postponed + 1);
    }
    CHECK(late == deadline_queue::most_postponed + 1);
}

TEST_CASE("a timer that is a little late changes nothing") {
    deadline_queue q;
    q.set(1, 1, start + 10s);
    CHECK(q.arm(start) == 10s);
    q.timer_fired(start + 10s + deadline_queue::most_late);
    CHECK(q.take_passed(start + 10s + deadline_queue::most_late) == std::vector<passed>{{1, 1}});
}
