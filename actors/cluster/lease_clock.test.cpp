#include "actors/cluster/lease_clock.hpp"

#include "tests/support/catch.hpp"

#include <vector>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {
constexpr node_time node_start{1h};
using standing = lease_standing;
} // namespace

TEST_CASE("a lease is counted from when the node asked, however late the answer is") {
    lease_clock clock(5s);
    CHECK(clock.standing(node_start) == standing::none);
    const auto asked = clock.ask(node_start);
    CHECK(clock.answered(asked, 60s, node_start + 20s));
    CHECK(clock.until() == node_start + 60s);
    CHECK(clock.stop_at() == node_start + 55s);
    CHECK(clock.standing(node_start + 55s - 1ns) == standing::running);
    CHECK(clock.standing(node_start + 55s) == standing::stopping);
}

TEST_CASE("a renewal moves the end, and an answer that comes out of order does not move it back") {
    lease_clock clock(5s);
    const auto first = clock.ask(node_start);
    const auto second = clock.ask(node_start + 10s);
    const auto third = clock.ask(node_start + 20s);
    CHECK(clock.answered(second, 60s, node_start + 21s));
    CHECK_FALSE(clock.answered(first, 60s, node_start + 22s));
    CHECK(clock.until() == node_start + 70s);
    CHECK(clock.answered(third, 60s, node_start + 23s));
    CHECK(clock.until() == node_start + 80s);
    CHECK_FALSE(clock.answered(third, 60s, node_start + 24s));
}

TEST_CASE("after the time to stop no answer brings the lease back, nor does time that goes back") {
    lease_clock clock(5s);
    CHECK(clock.answered(clock.ask(node_start), 60s, node_start));
    const auto again = clock.ask(node_start + 50s);
    // Nobody looked meanwhile: the process was stopped, or the machine suspended.
    CHECK_FALSE(clock.answered(again, 60s, node_start + 56s));
    CHECK(clock.standing(node_start + 56s) == standing::stopping);
    CHECK(clock.standing(node_start + 1s) == standing::stopping);
    CHECK_FALSE(clock.answered(clock.ask(node_start + 57s), 60s, node_start + 57s));
    CHECK(clock.until() == node_start + 60s);
}

TEST_CASE("a first answer that is older than its lease gives none") {
    lease_clock clock(5s);
    const auto asked = clock.ask(node_start);
    CHECK_FALSE(clock.answered(asked, 60s, node_start + 55s));
    CHECK(clock.standing(node_start + 55s) == standing::none);
    CHECK(clock.answered(clock.ask(node_start + 56s), 60s, node_start + 57s));
}

TEST_CASE("an answer to a question that this clock did not ask changes nothing") {
    lease_clock old(5s);
    const auto stale = old.ask(node_start);
    lease_clock fresh(5s);
    static_cast<void>(fresh.ask(node_start + 1s));
    CHECK_FALSE(fresh.answered(stale, 60s, node_start + 2s));
    CHECK(fresh.standing(node_start + 2s) == standing::none);
    CHECK_FALSE(fresh.answered(lease_clock::question{7}, 60s, node_start + 2s));
}

TEST_CASE("questions without an answer are forgotten, the oldest first") {
    lease_clock clock(5s);
    std::vector<lease_clock::question> asked;
    for (int i = 0; i < 100; ++i) {
        asked.push_back(clock.ask(node_start)); // at the same moment, and yet not the same question
    }
    CHECK_FALSE(clock.answered(asked.front(), 60s, node_start));
    CHECK(clock.answered(asked[90], 60s, node_start));
}

TEST_CASE("the time to stop takes at most half of a short lease") {
    lease_clock clock(5s);
    CHECK(clock.answered(clock.ask(node_start), 2s, node_start));
    CHECK(clock.stop_at() == node_start + 1s);
}
