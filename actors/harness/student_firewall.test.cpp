#include "actors/harness/student_firewall.hpp"

#include "runtimes/confinement/firewall/firewall.hpp"
#include "runtimes/confinement/firewall/nftables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/peer_network.hpp"

using namespace chalk;
using namespace chalk::actors;
using state = host_channel::student_firewall::state;
using Catch::Matchers::Contains;

namespace {

constexpr uid_t student = 61'236; // nobody else's on this machine

firewall_options options_of(state how) {
    firewall_options options;
    options.description = {how, {18801}, false};
    options.student = student;
    return options;
}

} // namespace

TEST_CASE("a tool server on a port that is not closed ends the run, unless the agent needs it", "[student_firewall]") {
    const host_channel::student_firewall firewall{state::applied, {7000}, false};
    CHECK(check_tool_port(firewall, 7000, false));
    CHECK(check_tool_port(firewall, 7001, true));
    const auto open = check_tool_port(firewall, 7001, false);
    REQUIRE(open.has_error());
    CHECK(open.error().kind == error_class::harness);
    CHECK(check_tool_port({state::none, {}, false}, 7001, false)); // the note says that there is no firewall
}

TEST_CASE("rules that let the student out end the run, and rules that do not are told of", "[student_firewall]") {
    if (const auto why = test::why_no_network(); !why.empty()) {
        CHALK_SKIP(why);
    }
    test::in_network_with_peer([] {
        // Said to be set, and not: the peer answers.
        const auto broken = options_of(state::applied);
        CHECK(needs_firewall_check(broken));
        const auto refused = check_firewall(broken);
        REQUIRE(refused.has_error());
        CHECK_THAT(refused.error().message, Contains("refusing to run") && Contains("answered the student"));
        // Set by the harness itself, and tried.
        const auto good = check_firewall(options_of(state::wanted));
        REQUIRE(good);
        CHECK_THAT(*good, Contains("none answered") && Contains("18801"));
        CHECK(check_firewall(broken)); // the same rules, now there
    });
    test::in_lonely_network([] {
        CHECK_FALSE(needs_firewall_check(options_of(state::applied)));
        CHECK_FALSE(needs_firewall_check(options_of(state::none)));
    });
}
