#include "actors/cluster/coordinator.test.hpp"

using namespace chalk;
using namespace chalk::actors;
using namespace chalk::test;
using namespace std::chrono_literals;

namespace {

constexpr attempt_number second_attempt{2};

outcome sandbox_broke() {
    return outcome::error(error_class::sandbox, "it broke");
}

} // namespace

TEST_CASE("a run is placed, sent when its start is durable, and counted once") {
    coordinated c;
    c.join("a", 1);
    static_cast<void>(c.book.take_decisions());
    c.book.request(run_at(1), attempt_number{1}, one_cpu());
    const auto placed = c.decided<decision::place>();
    REQUIRE(placed.size() == 1);
    const auto& name = placed.front().name;
    CHECK(name.token == fencing_token{1, 1});
    CHECK(c.book.placed() == 1);
    CHECK(c.book.where(name) == node_named("a"));

    c.book.started(name);
    c.book.started(name); // once
    CHECK(c.decided<decision::send_run>().size() == 1);

    CHECK_FALSE(c.book.must_ask(name));
    CHECK(c.result_of(placed.front()) == result_standing::counts);
    CHECK(c.result_of(placed.front()) == result_standing::under_way);
    CHECK(c.book.placed() == 0);
    CHECK(c.decided<decision::release_result>().empty()); // not before it is durable
    c.book.durable(name);
    c.book.closed(run_at(1));
    CHECK(c.book.must_ask(name));
    CHECK(c.book.result_came(name, node_named("a"), journalled_name::taken, outcome::failed(), c.now) ==
          result_standing::repeated);
    CHECK(c.decided<decision::release_result>().size() == 1);
}

TEST_CASE("what was never assigned, or is another node's, is foreign") {
    coordinated c;
    c.join("a", 1);
    c.join("b", 1);
    const auto here = c.place(run_at(1));
    auto never = here.name;
    never.token.count = 99;
    CHECK(c.book.result_came(never, here.node, journalled_name::taken, outcome::passed(), c.now) ==
          result_standing::foreign);
    CHECK(c.book.result_came(here.name, node_named("b"), journalled_name::absent, outcome::passed(), c.now) ==
          result_standing::foreign);
    CHECK_FALSE(c.book.given_back(here.name, node_named("b")));
    CHECK(c.book.placed() == 1);
    CHECK(c.result_of(here) == result_standing::counts);
}

TEST_CASE("runs that find no room wait, and follow as others end") {
    coordinated c;
    CHECK_FALSE(c.request(run_at(1))); // no node at all
    CHECK(c.book.obstacle(one_cpu()) == "no node has joined");
    c.join("a", 1);
    CHECK_FALSE(c.book.obstacle(one_cpu()));
    const auto first = c.decided<decision::place>();
    REQUIRE(first.size() == 1);
    c.book.started(first.front().name);
    CHECK_FALSE(c.request(run_at(2)));
    CHECK(c.book.waiting() == 1);
    CHECK(c.result_of(first.front()) == result_standing::counts);
    const auto next = c.decided<decision::place>();
    REQUIRE(next.size() == 1);
    CHECK(next.front().name.run == run_at(2));
    CHECK(c.book.waiting() == 0);
}

TEST_CASE("the attempt after a result is placed when that result is durable") {
    coordinated c;
    c.join("a", 2);
    const auto first = c.place(run_at(1));
    CHECK(c.result_of(first, outcome::error(error_class::model, "no answer")) == result_standing::counts);
    CHECK_FALSE(c.request(run_at(1), second_attempt));
    CHECK(c.book.waiting() == 1);
    c.book.durable(first.name);
    const auto next = c.decided<decision::place>();
    REQUIRE(next.size() == 1);
    CHECK(next.front().name.attempt == second_attempt);
    CHECK(next.front().name.token > first.name.token);
    CHECK(c.book.waiting() == 0);
}

TEST_CASE("an attempt avoids the node that the one before failed on") {
    coordinated c;
    c.join("a", 4);
    const auto b = c.join("b", 1);
    const auto first = c.place(run_at(1));
    REQUIRE(first.node == node_named("a"));
    CHECK(c.result_of(first, sandbox_broke()) == result_standing::counts);
    c.book.durable(first.name);
    const auto next = c.place(run_at(1), second_attempt);
    CHECK(next.node == b.node);
    CHECK(c.result_of(next) == result_standing::counts);
    c.book.durable(next.name);
    c.book.closed(run_at(1));
}

TEST_CASE("an attempt that never began is given back, and its room is another's") {
    coordinated c;
    c.join("a", 1);
    const auto first = c.place(run_at(1));
    CHECK_FALSE(c.request(run_at(2)));
    CHECK(c.book.given_back(first.name, first.node));
    CHECK_FALSE(c.book.given_back(first.name, first.node));
    CHECK_FALSE(c.book.where(first.name));
    CHECK(c.decided<decision::place>().size() == 1);
    CHECK_FALSE(c.request(run_at(1), second_attempt)); // waits like any other
    CHECK(c.book.waiting() == 1);
}

TEST_CASE("whatever waits can be withdrawn, wherever it waits") {
    coordinated c;
    c.join("a", 2);
    c.book.set_max_runs(3);
    const auto first = c.place(run_at(1));
    const auto other = c.place(run_at(2));
    CHECK(c.result_of(first, outcome::error(error_class::model, "")) == result_standing::counts);
    CHECK_FALSE(c.request(run_at(1), second_attempt)); // behind its result
    static_cast<void>(c.place(run_at(3)));
    CHECK_FALSE(c.request(run_at(4))); // for room
    CHECK_FALSE(c.request(run_at(5))); // held back
    CHECK(c.book.waiting() == 3);
    auto waited = c.book.withdraw_waiting();
    std::sort(waited.begin(), waited.end());
    CHECK(waited == std::vector<std::pair<run_key, attempt_number>>{
                        {run_at(1), second_attempt}, {run_at(4), attempt_number{1}}, {run_at(5), attempt_number{1}}});
    CHECK(c.book.waiting() == 0);
    c.book.durable(first.name);
    CHECK(c.result_of(other) == result_standing::counts);
    CHECK(c.decided<decision::place>().empty());
    CHECK(c.request(run_at(4))); // asked for again
}

TEST_CASE("no more runs are on nodes at once than may be, and a higher bound lets more in") {
    coordinated c;
    c.join("a", 8);
    c.book.set_max_runs(1);
    const auto first = c.place(run_at(1));
    CHECK_FALSE(c.request(run_at(2)));
    CHECK_FALSE(c.request(run_at(3)));
    CHECK_FALSE(c.request(run_at(4)));
    CHECK(c.result_of(first) == result_standing::counts);
    CHECK(c.decided<decision::place>().size() == 1);
    c.book.set_max_runs(2);
    CHECK(c.decided<decision::place>().size() == 1);
    c.book.set_max_runs(std::nullopt);
    CHECK(c.decided<decision::place>().size() == 1);
    CHECK(c.book.placed() == 3);
}

TEST_CASE("a lower bound also holds back those that wait for room already, and keeps their order") {
    coordinated c;
    c.join("a", 2);
    const auto first = c.place(run_at(1));
    const auto second = c.place(run_at(9));
    CHECK_FALSE(c.request(run_at(3)));
    CHECK_FALSE(c.request(run_at(2)));
    c.book.set_max_runs(1);
    CHECK(c.book.waiting() == 2);
    CHECK(c.result_of(first) == result_standing::counts);
    CHECK(c.decided<decision::place>().empty());
    CHECK(c.result_of(second) == result_standing::counts);
    const auto next = c.decided<decision::place>();
    REQUIRE(next.size() == 1);
    CHECK(next.front().name.run == run_at(3));
    CHECK(c.book.waiting() == 1);
}

TEST_CASE("a node is given some runs more than it has room for, and none that is larger than itself") {
    auto rules = strict_rules();
    rules.slack = 0.25;
    coordinated c(rules);
    c.join("a", 8);
    for (std::uint64_t i = 0; i < 10; ++i) {
        CHECK(c.request(run_at(i)));
    }
    CHECK_FALSE(c.request(run_at(10)));
    static_cast<void>(c.book.withdraw_waiting());
    auto large = one_cpu();
    large.wanted.milli_cpus = 9'000;
    CHECK(c.book.obstacle(large));
    c.join("b", 9);
    const auto its = c.request(run_at(11), attempt_number{1}, large);
    REQUIRE(its);
    CHECK(its->node == node_named("b"));
}

TEST_CASE("runs go where what they need is held") {
    coordinated c;
    c.join("a", 8);
    c.join("b", 8);
    c.book.digest_changed(node_named("b"), "sha256:1", true);
    auto needs = one_cpu();
    needs.digests = {"sha256:1"};
    CHECK(c.request(run_at(1), attempt_number{1}, needs)->node == node_named("b"));
    CHECK(c.request(run_at(2), attempt_number{1}, needs)->node == node_named("b"));
    c.book.digest_changed(node_named("b"), "sha256:1", false);
    CHECK(c.request(run_at(3), attempt_number{1}, needs)->node == node_named("a"));
}

TEST_CASE("a run that was taken back while its end was told is still lost with its node") {
    coordinated c;
    const auto a = c.join("a", 1);
    const auto first = c.place(run_at(1));
    CHECK(c.result_of(first) == result_standing::counts);
    CHECK_FALSE(c.request(run_at(1), second_attempt));
    c.book.durable(first.name);
    const auto again = c.decided<decision::place>();
    REQUIRE(again.size() == 1);
    c.book.closed(run_at(1)); // the first outcome's
    c.book.gave_up(a.node, a.number);
    CHECK(c.decided<decision::lose_run>().size() == 1);
    CHECK(c.book.placed() == 0);
}

TEST_CASE("a coordinator that is started again takes up the runs that nodes kept alive") {
    auto rules = strict_rules();
    rules.epoch = 2;
    const lease kept{node_named("a"), {1, 1}, 12s};
    const assignment_name alive{run_at(1), attempt_number{1}, {1, 5}};
    coordinated c(rules, {kept}, {{alive, kept.node, one_cpu(), 2}});
    CHECK(c.book.placed() == 1);
    CHECK(c.state_of("a") == member_state::suspect);
    CHECK_FALSE(c.request(run_at(2))); // nothing new before it is back
    CHECK(c.book.hello(kept.node, offer_of(2), kept.number, c.now) == membership::entry::again);
    c.book.node_has(kept.node, {alive}, {});
    const auto all = c.book.take_decisions();
    CHECK(of_kind<decision::place>(all).size() == 1);
    CHECK(of_kind<decision::send_run>(all).empty());
    CHECK(of_kind<decision::drop_run>(all).empty());
    CHECK(of_kind<decision::place>(all).front().name.token == fencing_token{2, 1});
    CHECK(c.book.result_came(alive, kept.node, journalled_name::absent, outcome::passed(), c.now) ==
          result_standing::counts);
}

TEST_CASE("runs whose node does not come back after a restart are lost when its lease has surely ended") {
    auto rules = strict_rules();
    rules.epoch = 2;
    const lease kept{node_named("a"), {1, 1}, 12s};
    const assignment_name alive{run_at(1), attempt_number{1}, {1, 5}};
    coordinated c(rules, {kept}, {{alive, kept.node, one_cpu(), 0}});
    c.pass(rules.terms.sure_wait(12s) - 1ms);
    CHECK(c.decided<decision::lose_run>().empty());
    c.pass(1ms);
    CHECK(c.decided<decision::lose_run>().size() == 1);
    CHECK(c.book.must_ask(alive));
    CHECK(c.book.result_came(alive, kept.node, journalled_name::assigned, outcome::passed(), c.now) ==
          result_standing::evidence);
}

TEST_CASE("a journal that contradicts itself is refused") {
    const lease kept{node_named("a"), {1, 1}, 12s};
    const assignment_name alive{run_at(1), attempt_number{1}, {1, 5}};
    const coordinator_time now{1h};
    auto rules = strict_rules();
    const auto kind = [&](const std::vector<lease>& leases, const std::vector<adopted_run>& adopted) {
        const auto opened = coordinator::open(rules, leases, adopted, now);
        return opened ? std::nullopt : std::optional(opened.error().kind);
    };
    CHECK(kind({kept}, {}) == error_class::harness); // of this very epoch
    rules.epoch = 2;
    CHECK_FALSE(kind({kept}, {{alive, kept.node, one_cpu(), 0}}));
    CHECK(kind({kept, kept}, {}) == error_class::harness);
    CHECK(kind({kept}, {{alive, node_named("b"), one_cpu(), 0}}) == error_class::harness); // has no lease
    CHECK(kind({kept}, {{alive, kept.node, one_cpu(), 0}, {alive, kept.node, one_cpu(), 0}}) == error_class::harness);
}
