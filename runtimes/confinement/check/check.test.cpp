/// Every rule of the firewall has a probe that sees when it is gone.
#include "runtimes/confinement/check/check.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/peer_network.hpp"

#include <algorithm>

using namespace chalk;
using namespace chalk::confinement::check;
using verdict = probe_result::verdict;

namespace {

settings settings_for(firewall::network_reach reach) {
    settings how;
    how.user = 61'237; // nobody else's on this machine
    how.reach = reach;
    return how;
}

std::vector<std::string> failed(const settings& how) {
    leftovers left;
    std::vector<std::string> names;
    for (const auto& one : probe_firewall(how, left)) {
        INFO(one.name << ": " << one.seen);
        CHECK(one.how != verdict::skip);
        if (one.how == verdict::fail) {
            names.push_back(one.name);
        }
    }
    CHECK(left.empty());
    return names;
}

bool all_start_with(const std::vector<std::string>& names, const std::string& start) {
    return !names.empty() &&
           std::all_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(start); });
}

/// Which probes a rule is there for.
std::string expected_red(const firewall::rule& gone) {
    if (gone.name == "closed port") {
        return "firewall: closed port on ";
    }
    if (gone.name == "own addresses") {
        return "firewall: own address ";
    }
    return gone.name == "everything else" ? "firewall: " : "firewall: private network, ";
}

} // namespace

TEST_CASE("with each firewall rule gone in turn, the probe for it turns red", "[check][network]") {
    if (const auto why = test::why_no_network(); !why.empty()) {
        CHALK_SKIP(why);
    }
    for (const auto reach : {firewall::network_reach::local, firewall::network_reach::internal}) {
        test::in_network_with_peer([reach] {
            auto how = settings_for(reach);
            CHECK(failed(how).empty());
            const auto rules = firewall::make_rules({how.user, {1}, reach});
            for (std::size_t i = 0; i < rules.size(); ++i) {
                how.alter_rules = [i](std::vector<firewall::rule> all) {
                    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
                    return all;
                };
                INFO("without: " << rules[i].name << " (" << i << ")");
                const auto red = failed(how);
                CHECK(all_start_with(red, expected_red(rules[i])));
                if (rules[i].name == "everything else") {
                    CHECK(std::any_of(red.begin(), red.end(),
                                      [](const auto& name) { return name.find("outside") != std::string::npos; }));
                }
            }
        });
    }
}

TEST_CASE("a network without a route passes, and says that nobody could get out", "[check][network]") {
    if (const auto why = test::why_no_network(); !why.empty()) {
        CHALK_SKIP(why);
    }
    test::in_lonely_network([] {
        leftovers left;
        for (const auto& one : probe_firewall(settings_for(firewall::network_reach::local), left)) {
            INFO(one.name << ": " << one.seen);
            CHECK(one.how == verdict::pass);
            if (one.name.find("outside") != std::string::npos) {
                CHECK(one.seen.find("no route") != std::string::npos);
            }
        }
    });
}

TEST_CASE("a machine without limits for the student is told from one with them", "[check]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it becomes another user");
    }
    settings how;
    how.user = 61'238;
    how.processes = 40; // and no group that would hold it to that
    how.student_memory = 16_MiB;
    leftovers left;
    const auto all = probe_limits(how, left);
    REQUIRE(all.size() == 3);
    CHECK(all[0].how == verdict::fail);
    CHECK(all[0].seen.find("72 forks, none failed") != std::string::npos);
    CHECK(all[1].how == verdict::fail);
    CHECK(all[2].how == verdict::pass);
}

TEST_CASE("a session under the default limits is what the probes expect, and none of it is left", "[check]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it becomes another user");
    }
    const auto user = find_unused_user();
    REQUIRE(user);
    settings how;
    how.user = *user;
    leftovers left;
    std::vector<std::string> names;
    for (const auto& one : probe_session(how, left)) {
        INFO(one.name << ": " << one.seen << ", expected " << one.expected);
        CHECK(one.how == verdict::pass);
        names.push_back(one.name);
    }
    CHECK(names == std::vector<std::string>{"session: user", "session: open files", "session: cpu time",
                                            "session: file size", "session: core dumps", "session: privileges",
                                            "session: secrets", "session: time"});
}
