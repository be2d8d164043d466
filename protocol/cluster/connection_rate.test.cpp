#include "protocol/cluster/connection_rate.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::cluster;
using namespace std::chrono_literals;

namespace {

const connection_rate::time_point start{1h};

boost::asio::ip::address address(const char* text) {
    return boost::asio::ip::make_address(text);
}

int admitted_of(connection_rate& rate, const char* source, connection_rate::time_point now, int tries) {
    int let_in = 0;
    for (int i = 0; i < tries; ++i) {
        let_in += rate.admit(address(source), now) ? 1 : 0;
    }
    return let_in;
}

} // namespace

TEST_CASE("an address may connect in a burst, then as often as its tokens come back") {
    connection_rate rate({.per_second = 2, .burst = 5});
    CHECK(admitted_of(rate, "10.0.0.1", start, 100) == 5);
    CHECK(admitted_of(rate, "10.0.0.1", start + 400ms, 100) == 0);
    CHECK(admitted_of(rate, "10.0.0.1", start + 1s, 100) == 2);
    CHECK(admitted_of(rate, "10.0.0.1", start + 1h, 100) == 5);
}

TEST_CASE("one address that connects too often takes nothing from another") {
    connection_rate rate({.per_second = 2, .burst = 5});
    CHECK(admitted_of(rate, "10.0.0.1", start, 100) == 5);
    CHECK(admitted_of(rate, "10.0.0.2", start, 100) == 5);
}

TEST_CASE("a connection that authenticated gives its token back, and never more than the burst") {
    connection_rate rate({.per_second = 0, .burst = 2});
    for (int i = 0; i < 100; ++i) {
        CHECK(rate.admit(address("10.0.0.1"), start));
        rate.give_back(address("10.0.0.1"));
    }
    rate.give_back(address("10.0.0.1"));
    rate.give_back(address("10.9.9.9"));
    CHECK(admitted_of(rate, "10.0.0.1", start, 100) == 2);
}

TEST_CASE("a clock that goes back gives no tokens") {
    connection_rate rate({.per_second = 10, .burst = 1});
    CHECK(admitted_of(rate, "10.0.0.1", start, 9) == 1);
    CHECK(admitted_of(rate, "10.0.0.1", start - 1h, 9) == 0);
    CHECK(admitted_of(rate, "10.0.0.1", start, 9) == 0);
}

TEST_CASE("the rate limit remembers a bounded number of sources, those that came last") {
    connection_rate rate({.per_second = 0, .burst = 1, .most_sources = 3});
    for (const char* source : {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) {
        CHECK(rate.admit(address(source), start));
    }
    CHECK_FALSE(rate.admit(address("10.0.0.1"), start)); // and so it came last
    CHECK(rate.admit(address("10.0.0.4"), start));
    CHECK(rate.sources() == 3);
    CHECK_FALSE(rate.admit(address("10.0.0.1"), start));
    CHECK(rate.admit(address("10.0.0.2"), start)); // forgotten
}

TEST_CASE("a machine's network of 64 bits is one source, and IPv4 within IPv6 is IPv4") {
    CHECK(source_of(address("2001:db8:1:2:3:4:5:6")) == source_of(address("2001:db8:1:2::1")));
    CHECK(source_of(address("2001:db8:1:2::1")) != source_of(address("2001:db8:1:3::1")));
    CHECK(source_of(address("::ffff:10.0.0.1")) == address("10.0.0.1"));
    CHECK(source_of(address("10.0.0.1")) != source_of(address("10.0.0.2")));
}
