/// What a coordinator decides of its nodes.
#include "actors/cluster/coordinator.test.hpp"

using namespace chalk;
using namespace chalk::actors;
using namespace chalk::test;
using namespace std::chrono_literals;

TEST_CASE("a node is welcome, and gets runs, when its lease is durable") {
    coordinated c;
    c.book.request(run_at(1), attempt_number{1}, one_cpu());
    REQUIRE(c.book.hello(node_named("a"), offer_of(1), std::nullopt, c.now) == membership::entry::anew);
    auto all = c.book.take_decisions();
    REQUIRE(of_kind<decision::write_grant>(all).size() == 1);
    CHECK(of_kind<decision::welcome>(all).empty());
    CHECK(of_kind<decision::place>(all).empty());
    CHECK(c.state_of("a") == member_state::joining);
    CHECK_FALSE(c.book.renew(node_named("a"), {1, 1}, c.now));

    const auto its = of_kind<decision::write_grant>(all).front().what;
    c.book.granted(its, c.now);
    c.book.granted(its, c.now); // once
    all = c.book.take_decisions();
    REQUIRE(all.size() == 2);
    CHECK(std::get<decision::welcome>(all[0]).what == its); // before anything is placed there
    CHECK(std::get<decision::place>(all[1]).node == its.node);
    CHECK(c.state_of("a") == member_state::ready);
    CHECK(c.book.renew(its.node, its.number, c.now) == its);
}

TEST_CASE("another version, and a second node under a name, are not let in") {
    coordinated c;
    const auto a = c.join("a", 1);
    const auto here = c.place(run_at(1));
    auto other = offer_of(1);
    other.version = "0.9";
    CHECK(c.book.hello(node_named("b"), other, std::nullopt, c.now).error().kind == error_class::config);
    CHECK(c.book.hello(a.node, other, a.number, c.now).error().kind == error_class::config);
    CHECK(c.book.hello(a.node, offer_of(4), std::nullopt, c.now).error().kind == error_class::config);
    CHECK(c.book.hello(a.node, offer_of(4), lease_number{1, 9}, c.now).error().kind == error_class::config);
    CHECK(c.book.take_decisions().size() == 1); // the run's sending, from before
    CHECK(c.book.nodes().size() == 1);
    CHECK(c.book.where(here.name) == a.node);
    CHECK_FALSE(c.request(run_at(2))); // it is as large as it was
}

TEST_CASE("a node that comes back goes on under its lease, hears what it missed and drops what counts no more") {
    coordinated c;
    const auto a = c.join("a", 4);
    const auto runs = c.place(run_at(1));
    const auto ended = c.place(run_at(2));
    const auto missed = c.place(run_at(3));
    c.book.link_lost(a.node);
    c.book.link_lost(a.node); // changes nothing
    CHECK(c.state_of("a") == member_state::suspect);
    CHECK_FALSE(c.request(run_at(4)));
    static_cast<void>(c.book.take_decisions());
    CHECK(c.book.hello(a.node, offer_of(4), a.number, c.now) == membership::entry::again);
    const auto placed = c.decided<decision::place>();
    REQUIRE(placed.size() == 1); // the fourth; its start is not durable yet
    const assignment_name stale{run_at(9), attempt_number{1}, {0, 3}};
    c.book.node_has(a.node, {runs.name, stale}, {ended.name});
    const auto all = c.book.take_decisions();
    REQUIRE(of_kind<decision::send_run>(all).size() == 1);
    CHECK(of_kind<decision::send_run>(all).front().name == missed.name);
    REQUIRE(of_kind<decision::drop_run>(all).size() == 1);
    CHECK(of_kind<decision::drop_run>(all).front().name == stale);
    CHECK(of_kind<decision::write_grant>(all).empty());
}

TEST_CASE("a run that was placed before the link broke is sent when the node is back") {
    coordinated c;
    const auto a = c.join("a", 1);
    static_cast<void>(c.book.take_decisions());
    c.book.request(run_at(1), attempt_number{1}, one_cpu());
    const auto placed = c.decided<decision::place>();
    REQUIRE(placed.size() == 1);
    c.book.link_lost(a.node);
    c.book.started(placed.front().name);
    CHECK(c.book.take_decisions().empty());
    REQUIRE(c.book.hello(a.node, offer_of(1), a.number, c.now));
    c.book.node_has(a.node, {}, {});
    CHECK(c.decided<decision::send_run>().size() == 1);
}

TEST_CASE("a node that goes before its lease is durable gives it up, and may come again") {
    coordinated c;
    const auto id = node_named("a");
    REQUIRE(c.book.hello(id, offer_of(1), std::nullopt, c.now));
    const auto first = c.book.lease_of(id).value();
    c.book.link_lost(id);
    CHECK_FALSE(c.book.hello(id, offer_of(1), std::nullopt, c.now)); // its name is taken till then
    c.book.granted(first, c.now);
    const auto all = c.book.take_decisions();
    CHECK(of_kind<decision::welcome>(all).empty());
    REQUIRE(of_kind<decision::write_end>(all).size() == 1);
    CHECK(of_kind<decision::write_end>(all).front().what.number == first.number);
    CHECK(c.join("a", 1).number > first.number);
}

TEST_CASE("a lease that is given up before it is durable ends, and its node may come again") {
    coordinated c;
    const auto id = node_named("a");
    REQUIRE(c.book.hello(id, offer_of(1), std::nullopt, c.now));
    const auto first = c.book.lease_of(id).value();
    c.book.gave_up(id, first.number);
    CHECK(c.decided<decision::write_end>().size() == 1);
    const auto second = c.join("a", 1);
    CHECK(second.number > first.number);
    c.book.granted(first, c.now); // late
    c.book.grant_failed(first);
    CHECK(c.state_of("a") == member_state::ready);
    CHECK(c.book.lease_of(id) == second);
}

TEST_CASE("after a grant that could not be written it is as if the node had not come") {
    coordinated c;
    const auto id = node_named("a");
    REQUIRE(c.book.hello(id, offer_of(1), std::nullopt, c.now));
    c.book.grant_failed(c.book.lease_of(id).value());
    CHECK(c.book.nodes().empty());
    CHECK_FALSE(c.book.lease_of(id));
    c.join("a", 1);
}

TEST_CASE("what a lost node had is lost when its lease has surely ended, and goes elsewhere after that is written") {
    coordinated c;
    const auto a = c.join("a", 1);
    const auto b = c.join("b", 1);
    const auto lost = c.place(run_at(1));
    REQUIRE(lost.node == a.node);
    static_cast<void>(c.place(run_at(2)));
    c.pass_with(strict_rules().terms.sure_wait(12s) - 1ms, b);
    CHECK(c.decided<decision::lose_run>().empty());
    CHECK(c.state_of("a") == member_state::suspect);
    c.pass(1ms);
    const auto all = c.book.take_decisions();
    REQUIRE(all.size() == 3);
    CHECK(std::get<decision::write_end>(all[0]).what == lease_ended{a.node, a.number});
    CHECK(std::get<decision::say>(all[1]).text.find("1 runs are lost") != std::string::npos);
    CHECK(std::get<decision::lose_run>(all[2]).name == lost.name);
    CHECK(c.state_of("a") == member_state::lost);
    CHECK(c.book.placed() == 1);
    CHECK(c.book.renew(a.node, a.number, c.now).error().kind == error_class::node_lost);
    CHECK(c.book.must_ask(lost.name));
    CHECK(c.book.result_came(lost.name, a.node, journalled_name::assigned, outcome::passed(), c.now) ==
          result_standing::evidence);

    CHECK(c.join("a", 1).number > a.number);
    CHECK_FALSE(c.request(run_at(1), attempt_number{2})); // b could take it one day, so it avoids a
}

TEST_CASE("what has a result on its way to the journal is not lost with its node") {
    coordinated c;
    const auto a = c.join("a", 2);
    const auto first = c.place(run_at(1));
    CHECK(c.result_of(first) == result_standing::counts);
    static_cast<void>(c.book.take_decisions());
    c.book.gave_up(a.node, a.number);
    CHECK(c.decided<decision::lose_run>().empty());
    c.book.durable(first.name);
    c.book.closed(run_at(1));
    CHECK(c.book.result_came(first.name, a.node, journalled_name::taken, outcome::passed(), c.now) ==
          result_standing::repeated);
}

TEST_CASE("a silent node gets nothing new until it is heard of") {
    coordinated c;
    const auto a = c.join("a", 2);
    c.pass(lease_terms::suspect_after(12s));
    CHECK(c.state_of("a") == member_state::suspect);
    CHECK_FALSE(c.request(run_at(1)));
    REQUIRE(c.book.renew(a.node, a.number, c.now));
    CHECK(c.decided<decision::place>().size() == 1);
    c.book.link_lost(a.node);
    REQUIRE(c.book.renew(a.node, a.number, c.now)); // a word that was under way when the link broke
    CHECK(c.state_of("a") == member_state::suspect);
}

TEST_CASE("what is lost with one node does not go to another of which nothing was heard either") {
    coordinated c;
    c.join("a", 1);
    static_cast<void>(c.place(run_at(1)));
    c.pass(8s);
    c.join("b", 1);
    const auto failed = c.place(run_at(2));
    CHECK(c.result_of(failed, outcome::error(error_class::sandbox, "it broke")) == result_standing::counts);
    c.book.durable(failed.name);
    CHECK_FALSE(c.request(run_at(2), attempt_number{2})); // avoids b while a may come back
    c.pass(7'200ms);                                      // a's lease has ended, and b is silent by now
    const auto all = c.book.take_decisions();
    CHECK(of_kind<decision::lose_run>(all).size() == 1);
    CHECK(of_kind<decision::place>(all).empty());
}

TEST_CASE("a drained node starts nothing new, also when it comes back, until a person says otherwise") {
    coordinated c;
    CHECK(c.book.drain(node_named("a"), true).error().kind == error_class::config);
    const auto a = c.join("a", 2);
    const auto first = c.place(run_at(1));
    REQUIRE(c.book.drain(a.node, true));
    CHECK_FALSE(c.request(run_at(2)));
    CHECK(c.result_of(first) == result_standing::counts); // it goes on with what it has
    c.book.gave_up(a.node, a.number);
    const auto again = c.join("a", 2);
    CHECK(c.state_of("a") == member_state::draining);
    CHECK(c.decided<decision::place>().empty());
    REQUIRE(c.book.drain(again.node, false));
    CHECK(c.decided<decision::place>().size() == 1);
}

namespace {

/// Two errors there.
void put_into_quarantine(coordinated& c, std::string_view node) {
    for (std::uint64_t i = 100; i < 102; ++i) {
        const auto its = c.place(run_at(i));
        REQUIRE(its.node == node_named(node));
        CHECK(c.result_of(its, outcome::error(error_class::sandbox, "it broke")) == result_standing::counts);
        c.book.durable(its.name);
        c.book.closed(run_at(i));
    }
    CHECK(c.state_of(node) == member_state::quarantined);
    static_cast<void>(c.book.take_decisions());
}

} // namespace

TEST_CASE("a node on which too many runs failed gets no new ones until a probe passes there") {
    coordinated c;
    const auto a = c.join("a", 2);
    put_into_quarantine(c, "a");
    CHECK_FALSE(c.request(run_at(1)));
    c.pass_with(9s, a);
    CHECK(c.decided<decision::probe_node>().empty());
    c.pass_with(2s, a);
    CHECK(c.decided<decision::probe_node>().size() == 1);
    c.book.probed(a.node, false, c.now);
    c.pass_with(19s, a); // twice as long
    CHECK(c.decided<decision::probe_node>().empty());
    c.pass_with(2s, a);
    CHECK(c.decided<decision::probe_node>().size() == 1);
    c.book.probed(a.node, true, c.now);
    CHECK(c.state_of("a") == member_state::ready);
    CHECK(c.decided<decision::place>().size() == 1);
    c.book.probed(a.node, true, c.now); // nobody asked
    CHECK(c.book.take_decisions().empty());
}

TEST_CASE("a probe that went with the link is made again") {
    coordinated c;
    const auto a = c.join("a", 2);
    put_into_quarantine(c, "a");
    c.pass_with(11s, a);
    REQUIRE(c.decided<decision::probe_node>().size() == 1);
    c.book.link_lost(a.node);
    REQUIRE(c.book.hello(a.node, offer_of(2), a.number, c.now) == membership::entry::again);
    CHECK(c.state_of("a") == member_state::quarantined);
    c.pass_with(21s, a);
    CHECK(c.decided<decision::probe_node>().size() == 1);
}

TEST_CASE("a quarantine outlives its node's loss, and the probe waits until the new lease was told") {
    coordinated c;
    const auto a = c.join("a", 2);
    put_into_quarantine(c, "a");
    c.book.gave_up(a.node, a.number);
    c.pass(11s);
    CHECK(c.decided<decision::probe_node>().empty());
    REQUIRE(c.book.hello(a.node, offer_of(2), std::nullopt, c.now));
    c.pass(100ms);
    CHECK(c.decided<decision::probe_node>().empty());
    c.book.granted(c.book.lease_of(a.node).value(), c.now);
    CHECK(c.state_of("a") == member_state::quarantined);
    c.pass(100ms);
    CHECK(c.decided<decision::probe_node>().size() == 1);
}

TEST_CASE("a coordinator looks at the time often enough for its leases") {
    auto rules = strict_rules();
    CHECK(coordinated(rules).book.tick_every() == 500ms);
    rules.terms = terms_for(1s);
    CHECK(coordinated(rules).book.tick_every() == 50ms);
    rules.terms = terms_for(3'600s);
    CHECK(coordinated(rules).book.tick_every() == 1s);
}
