#include "actors/supervision/restart_policy.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::actors;
using namespace std::chrono_literals;

TEST_CASE("a child is restarted up to the intensity and no further") {
    restart_policy policy(2, 10s);
    const restart_policy::clock::time_point start{};
    CHECK(policy.allow(start));
    CHECK(policy.allow(start + 1s));
    CHECK_FALSE(policy.allow(start + 2s));
    CHECK_FALSE(policy.allow(start + 9s));
}

TEST_CASE("restarts that left the window no longer count") {
    restart_policy policy(2, 10s);
    const restart_policy::clock::time_point start{};
    CHECK(policy.allow(start));
    CHECK(policy.allow(start + 6s));
    CHECK(policy.allow(start + 10s));
    CHECK_FALSE(policy.allow(start + 15s));
    CHECK(policy.allow(start + 16s));
}

TEST_CASE("a policy of no restarts allows none") {
    restart_policy policy(0, 10s);
    CHECK_FALSE(policy.allow({}));
}
