#include "runtimes/confinement/firewall/rules.hpp"

#include "tests/support/catch.hpp"

#include <arpa/inet.h>

using namespace chalk::firewall;
using verdict = rule::verdict;

namespace {

packet to(const char* address, bool loopback = false, std::optional<std::uint16_t> port = std::nullopt) {
    packet made;
    made.loopback = loopback;
    made.v6 = ::inet_pton(AF_INET, address, made.to.data()) != 1;
    if (made.v6) {
        REQUIRE(::inet_pton(AF_INET6, address, made.to.data()) == 1);
    }
    made.tcp_port = port;
    return made;
}

} // namespace

TEST_CASE("the student reaches the sandbox's own addresses and nothing else", "[firewall]") {
    const auto rules = make_rules({1000, {7000, 8000}, network_reach::local});
    for (const char* own : {"127.0.0.1", "::1", "10.0.0.2", "192.0.2.7", "2001:db8::7"}) {
        CHECK(judge(rules, to(own, true)) == verdict::accept);
        CHECK(judge(rules, to(own, true, 80)) == verdict::accept);
    }
    for (const char* other : {"192.0.2.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "8.8.8.8",
                              "2001:db8::1", "fd00::1", "fe80::1", "127.0.0.1"}) {
        CHECK(judge(rules, to(other, false, 443)) == verdict::refuse);
        CHECK(judge(rules, to(other)) == verdict::refuse);
    }
}

TEST_CASE("closed ports are closed everywhere, whatever else is open", "[firewall]") {
    for (const auto reach : {network_reach::local, network_reach::internal}) {
        const auto rules = make_rules({1000, {7000, 8000}, reach});
        for (const char* where : {"127.0.0.1", "::1"}) {
            CHECK(judge(rules, to(where, true, 7000)) == verdict::refuse);
            CHECK(judge(rules, to(where, true, 8000)) == verdict::refuse);
            CHECK(judge(rules, to(where, true, 7001)) == verdict::accept);
        }
        CHECK(judge(rules, to("172.17.0.1", false, 7000)) == verdict::refuse);
        CHECK(judge(rules, to("fd00::1", false, 8000)) == verdict::refuse);
    }
}

TEST_CASE("'internal' opens private ranges to their last address, and no link-local one", "[firewall]") {
    const auto rules = make_rules({1000, {}, network_reach::internal});
    for (const char* inside : {"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.1",
                               "192.168.255.255", "fc00::1", "fdff:ffff::1"}) {
        INFO(inside);
        CHECK(judge(rules, to(inside)) == verdict::accept);
    }
    for (const char* outside :
         {"9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "100.64.0.1",
          "169.254.169.254", "8.8.8.8", "fe80::1", "fe00::1", "fbff::1", "2001:db8::1"}) {
        INFO(outside);
        CHECK(judge(rules, to(outside)) == verdict::refuse);
    }
}

TEST_CASE("only known words say how far the student reaches", "[firewall]") {
    CHECK(parse_reach("") == network_reach::local);
    CHECK(parse_reach("local") == network_reach::local);
    CHECK(parse_reach("internal") == network_reach::internal);
    for (const auto reach : {network_reach::local, network_reach::internal}) {
        CHECK(parse_reach(to_string(reach)) == reach);
    }
    CHECK_FALSE(parse_reach("all"));
    CHECK_FALSE(parse_reach("Internal"));
}
