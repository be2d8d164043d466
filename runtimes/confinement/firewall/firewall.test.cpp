/// The rules in real network namespaces, in front of a peer that answers whatever is asked.
#include "runtimes/confinement/firewall/firewall.hpp"

#include "runtimes/confinement/firewall/nftables.hpp"
#include "runtimes/confinement/firewall/reach.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/peer_network.hpp"

#include <cerrno>

using namespace chalk;
using namespace chalk::firewall;

namespace {

constexpr uid_t student = 61'235; // nobody else's on this machine
constexpr milliseconds patience{1'500};

std::vector<target> private_targets() {
    return {{"10.1.2.3", 443, false}, {"172.16.9.9", 80, false}, {"192.168.9.9", 443, false}, {"fd77::1", 443, false}};
}

std::vector<target> own_targets(std::uint16_t port) {
    return {{"127.0.0.1", port, false}, {"::1", port, false}, {"192.0.2.1", port, false}, {"2001:db8::1", port, false}};
}

/// The targets that answered, in words.
std::vector<std::string> answered(const std::vector<target>& targets, uid_t user) {
    const auto tried = try_to_reach(targets, user, patience);
    REQUIRE(tried);
    std::vector<std::string> all;
    for (const attempt& one : *tried) {
        if (one.answered) {
            all.push_back(one.to.str());
        }
    }
    return all;
}

/// Those that took the connection.
std::size_t connected(const std::vector<target>& targets, uid_t user) {
    const auto tried = try_to_reach(targets, user, patience);
    REQUIRE(tried);
    std::size_t count = 0;
    for (const attempt& one : *tried) {
        count += one.answered && one.error == 0 ? 1U : 0U;
    }
    return count;
}

/// Back ends that this kernel has.
std::vector<back_end> back_ends() {
    std::vector<back_end> found;
    test::in_lonely_network([&] {
        for (const auto which : {back_end::nftables, back_end::iptables_legacy}) {
            if (apply(make_rules({student, {}, network_reach::local}), student, student_table, which)) {
                found.push_back(which);
            }
        }
    });
    return found;
}

} // namespace

#define NEEDS_NETWORK()                                                                                                \
    if (const auto why = test::why_no_network(); !why.empty()) {                                                       \
        CHALK_SKIP(why);                                                                                               \
    }

TEST_CASE("without rules the peer answers the student on every address", "[firewall][network]") {
    NEEDS_NETWORK();
    test::in_network_with_peer([] {
        CHECK(answered(outside_targets(), student).size() == outside_targets().size());
        CHECK(answered(private_targets(), student).size() == private_targets().size());
    });
}

TEST_CASE("the rules keep the student in the sandbox and nobody else", "[firewall][network]") {
    NEEDS_NETWORK();
    const auto all = back_ends();
    if (all.empty()) {
        CHALK_SKIP("this kernel has neither nftables nor iptables-legacy");
    }
    for (const auto which : all) {
        INFO(to_string(which));
        test::in_network_with_peer([&] {
            const auto open = test::listen_everywhere(7001);
            const auto closed = test::listen_everywhere(7000);
            REQUIRE(apply(make_rules({student, {7000}, network_reach::local}), student, student_table, which));
            CHECK(answered(outside_targets(), student) == std::vector<std::string>{});
            CHECK(answered(private_targets(), student) == std::vector<std::string>{});
            CHECK(connected(own_targets(7001), student) == 4);
            CHECK(connected(own_targets(7000), student) == 0);
            // The others.
            CHECK(answered(outside_targets(), 0).size() == outside_targets().size());
            CHECK(connected(own_targets(7000), 0) == 4);
            CHECK(connected(own_targets(7000), student + 1) == 4);
            CHECK(answered(private_targets(), student + 1).size() == private_targets().size());
            // And back.
            REQUIRE(remove(which, student_table));
            CHECK(answered(outside_targets(), student).size() == outside_targets().size());
            CHECK(connected(own_targets(7000), student) == 4);
        });
    }
}

TEST_CASE("'internal' opens private networks to the student, but for closed ports and link-local addresses",
          "[firewall][network]") {
    NEEDS_NETWORK();
    for (const auto which : back_ends()) {
        INFO(to_string(which));
        test::in_network_with_peer([&] {
            REQUIRE(apply(make_rules({student, {7000}, network_reach::internal}), student, student_table, which));
            CHECK(answered(private_targets(), student).size() == private_targets().size());
            CHECK(answered(outside_targets(), student) == std::vector<std::string>{});
            CHECK(connected({{"10.1.2.3", 7000, false}, {"fd77::1", 7000, false}}, student) == 0);
            CHECK(connected({{"10.1.2.3", 7000, false}, {"fd77::1", 7000, false}}, 0) == 2);
        });
    }
}

TEST_CASE("nftables tells the student at once that it may not", "[firewall][network]") {
    NEEDS_NETWORK();
    test::in_network_with_peer([] {
        const auto closed = test::listen_everywhere(7000);
        if (!apply(make_rules({student, {7000}, network_reach::local}), student, student_table, back_end::nftables)) {
            CHALK_SKIP("this kernel has no nftables");
        }
        const auto tried =
            try_to_reach({{"203.0.113.9", 443, false}, {"2001:db8:1::9", 443, false}, {"127.0.0.1", 7000, false}},
                         student, patience);
        REQUIRE(tried);
        CHECK(tried->at(0).error == EHOSTUNREACH);
        CHECK(tried->at(1).error == EACCES);
        CHECK(tried->at(2).error == ECONNREFUSED);
    });
}

TEST_CASE("rules replace those of the same table, and what was never there cannot be removed", "[firewall][network]") {
    NEEDS_NETWORK();
    test::in_lonely_network([] {
        const auto listener = test::listen_everywhere(7000);
        const auto closed = make_rules({student, {7000}, network_reach::local});
        if (!apply(closed, student, student_table, back_end::nftables)) {
            CHALK_SKIP("this kernel has no nftables");
        }
        CHECK(connected({{"127.0.0.1", 7000, false}}, student) == 0);
        REQUIRE(apply(make_rules({student, {}, network_reach::local}), student, student_table, back_end::nftables));
        CHECK(connected({{"127.0.0.1", 7000, false}}, student) == 1);
        CHECK(remove(back_end::nftables, student_table));
        CHECK_FALSE(remove(back_end::nftables, student_table));
    });
}

TEST_CASE("a network without a route is told from one that is closed", "[firewall][network]") {
    NEEDS_NETWORK();
    test::in_lonely_network([] {
        for (const target& one : outside_targets()) {
            CHECK_FALSE(has_route(one));
        }
        CHECK(has_route({"127.0.0.1", 80, false}));
        const auto tried = try_to_reach({{"203.0.113.9", 443, false}}, student, patience);
        REQUIRE(tried);
        CHECK(tried->at(0).error == ENETUNREACH);
    });
    test::in_network_with_peer([] {
        for (const target& one : outside_targets()) {
            CHECK(has_route(one));
        }
    });
}

TEST_CASE("rules that somebody else made with iptables are left alone", "[firewall][network]") {
    NEEDS_NETWORK();
    test::in_lonely_network([] {
        const auto rules = make_rules({student, {}, network_reach::local});
        if (!apply(rules, student, student_table, back_end::iptables_legacy)) {
            CHALK_SKIP("this kernel has no iptables-legacy");
        }
        CHECK_FALSE(apply(rules, student, student_table, back_end::iptables_legacy));
    });
}
