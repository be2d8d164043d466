#include "protocol/environment/log_rate.hpp"

#include "tests/support/catch.hpp"

using chalk::environment::log_rate;
using namespace std::chrono_literals;

TEST_CASE("lines beyond the rate are dropped, counted, and told with the first line of the next second",
          "[environment]") {
    log_rate rate(2);
    log_rate::time_point start{10s};
    CHECK(rate.on_line(start).admit);
    CHECK(rate.on_line(start + 1ms).admit);
    CHECK_FALSE(rate.on_line(start + 2ms).admit);
    CHECK_FALSE(rate.on_line(start + 999ms).admit);
    auto next = rate.on_line(start + 1s);
    CHECK(next.admit);
    CHECK(next.dropped_before == 2);
    CHECK(rate.on_line(start + 1001ms).dropped_before == 0);
}

TEST_CASE("what was dropped last is told at the end, once", "[environment]") {
    log_rate rate(0);
    CHECK_FALSE(rate.on_line(log_rate::time_point{5s}).admit);
    CHECK(rate.take_dropped() == 1);
    CHECK(rate.take_dropped() == 0);
}
