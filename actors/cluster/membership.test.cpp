#include "actors/cluster/membership.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

const node_id ant = node_id::parse("ant").value();
const node_id bee = node_id::parse("bee").value();
constexpr lease_number lease_one{1, 1};
constexpr lease_number lease_two{1, 2};
using entry = membership::entry;

node_offer offer_of(const std::string& version = "1.2.0") {
    node_offer offer;
    offer.version = version;
    offer.capacity.milli_cpus = 8'000;
    return offer;
}

membership with_ant() {
    membership m("1.2.0");
    REQUIRE(m.join(ant, offer_of(), std::nullopt).value() == entry::anew);
    REQUIRE(m.joined(ant, lease_one));
    return m;
}

} // namespace

TEST_CASE("a node is joining until its lease is durable, and then ready") {
    membership m("1.2.0");
    CHECK_FALSE(m.state(ant));
    CHECK(m.join(ant, offer_of(), std::nullopt).value() == entry::anew);
    CHECK(m.state(ant) == member_state::joining);
    CHECK_FALSE(m.join(ant, offer_of(), std::nullopt));
    CHECK(m.joined(ant, lease_one));
    CHECK_FALSE(m.joined(ant, lease_two));
    CHECK(m.state(ant) == member_state::ready);
    CHECK(m.lease_of(ant) == lease_one);
    CHECK(m.offer(ant)->capacity.milli_cpus == 8'000);
    CHECK(m.nodes() == std::vector{ant});
}

TEST_CASE("a node of another version is refused and both are named, also one that comes back") {
    auto m = with_ant();
    for (const auto& [id, holds] : {std::pair{bee, std::optional<lease_number>{}}, {ant, std::optional(lease_one)}}) {
        const auto answer = m.join(id, offer_of("1.3.0"), holds);
        REQUIRE_FALSE(answer);
        CHECK(answer.error().kind == error_class::config);
        CHECK(answer.error().message.find("1.3.0") != std::string::npos);
        CHECK(answer.error().message.find("1.2.0") != std::string::npos);
    }
    CHECK_FALSE(m.state(bee));
    CHECK(m.state(ant) == member_state::ready);
}

TEST_CASE("a second node of a name is refused while the first is alive, and takes its place when its lease has ended") {
    auto m = with_ant();
    CHECK_FALSE(m.join(ant, offer_of(), std::nullopt));
    CHECK_FALSE(m.join(ant, offer_of(), lease_two));
    m.silent(ant);
    CHECK_FALSE(m.join(ant, offer_of(), std::nullopt));
    CHECK(m.state(ant) == member_state::suspect);
    CHECK_FALSE(m.lost(ant, lease_two));
    CHECK(m.lost(ant, lease_one));
    CHECK(m.state(ant) == member_state::lost);
    CHECK_FALSE(m.offer(ant));
    CHECK(m.join(ant, offer_of(), lease_one).value() == entry::anew);
    CHECK(m.joined(ant, lease_two));
    CHECK_FALSE(m.lost(ant, lease_one)); // told late
    CHECK(m.state(ant) == member_state::ready);
}

TEST_CASE("a node whose connection was cut comes back by its lease") {
    auto m = with_ant();
    m.silent(ant);
    CHECK(m.join(ant, offer_of(), lease_one).value() == entry::again);
    CHECK(m.state(ant) == member_state::ready);
    CHECK(m.lease_of(ant) == lease_one);
}

TEST_CASE("after a restart a node of the journal is suspect until it comes back with what it offers") {
    membership m("1.2.0");
    m.remember(ant, lease_one);
    CHECK(m.state(ant) == member_state::suspect);
    CHECK_FALSE(m.offer(ant));
    m.heard(ant);
    CHECK(m.state(ant) == member_state::suspect);
    CHECK_FALSE(m.join(ant, offer_of(), std::nullopt));
    CHECK(m.join(ant, offer_of(), lease_one).value() == entry::again);
    CHECK(m.state(ant) == member_state::ready);
}

TEST_CASE("of what is true of a node the weightiest is its state") {
    auto m = with_ant();
    m.set_quarantined(ant, true);
    CHECK(m.state(ant) == member_state::quarantined);
    m.drain(ant, true);
    CHECK(m.state(ant) == member_state::draining);
    m.silent(ant);
    CHECK(m.state(ant) == member_state::suspect);
    m.heard(ant);
    CHECK(m.state(ant) == member_state::draining);
    CHECK(m.lost(ant, lease_one));
    REQUIRE(m.join(ant, offer_of(), std::nullopt));
    CHECK(m.state(ant) == member_state::joining);
    CHECK(m.joined(ant, lease_two));
    CHECK(m.state(ant) == member_state::draining); // a person's word outlives the node
    m.drain(ant, false);
    m.set_quarantined(ant, false);
    CHECK(m.state(ant) == member_state::ready);
}

TEST_CASE("a node that is turned away is as if it had not come") {
    membership m("1.2.0");
    REQUIRE(m.join(ant, offer_of(), std::nullopt));
    m.turn_away(ant);
    CHECK_FALSE(m.state(ant));
    CHECK(m.join(ant, offer_of(), std::nullopt));
    CHECK(m.joined(ant, lease_one));
    m.turn_away(ant);
    CHECK(m.state(ant) == member_state::ready);
}

TEST_CASE("a node is forgotten only when it is lost") {
    auto m = with_ant();
    CHECK_FALSE(m.forget(ant));
    CHECK(m.lost(ant, lease_one));
    CHECK(m.forget(ant));
    CHECK_FALSE(m.forget(ant));
    CHECK(m.nodes().empty());
}

TEST_CASE("what a node holds changes while it is known") {
    auto m = with_ant();
    m.now_holds(ant, "sha256:1");
    m.now_holds(ant, "sha256:2");
    m.holds_no_more(ant, "sha256:1");
    CHECK(m.offer(ant)->held == std::set<std::string, std::less<>>{"sha256:2"});
    m.now_holds(bee, "sha256:1");
    CHECK_FALSE(m.offer(bee));
    CHECK(to_string(member_state::quarantined) == "quarantined");
}
