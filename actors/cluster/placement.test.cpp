#include "actors/cluster/placement.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

constexpr resources roomy{.memory = 8_GiB, .disk = 100_GiB, .processes = 1'000, .milli_cpus = 8'000, .open_files = 500};
constexpr resources little{.memory = 1_GiB, .disk = 1_GiB, .processes = 10, .milli_cpus = 1'000, .open_files = 5};
constexpr resources large{.memory = 8_GiB, .disk = 1_GiB, .processes = 10, .milli_cpus = 1'000, .open_files = 5};

const node_id node_a = node_id::parse("a").value();
const node_id node_b = node_id::parse("b").value();
const node_id node_c = node_id::parse("c").value();

using placed = std::vector<placed_run>;

node_offer roomy_offer(std::set<std::string, std::less<>> labels = {}, std::set<std::string, std::less<>> held = {}) {
    return {"1.0", roomy, {"namespaces"}, std::move(labels), std::move(held)};
}

run_needs needs_of(const resources& wanted) {
    run_needs n;
    n.wanted = wanted;
    return n;
}

void add_ready(placement& p, const node_id& id, const node_offer& offer = roomy_offer()) {
    REQUIRE(p.put_node(id, offer, member_state::ready).empty());
}

constexpr run_key nth(std::uint64_t i) {
    return {0, i};
}

} // namespace

TEST_CASE("runs are spread over the nodes by load") {
    placement p;
    add_ready(p, node_a);
    add_ready(p, node_b);
    CHECK(p.request(nth(1), needs_of(little)) == placed{{nth(1), node_a}});
    CHECK(p.request(nth(2), needs_of(little)) == placed{{nth(2), node_b}});
    CHECK(p.release(nth(2)).empty());
    CHECK(p.request(nth(3), needs_of(little)) == placed{{nth(3), node_b}});
    CHECK(p.request(nth(3), needs_of(little)).empty()); // asked for twice
    CHECK(p.placed() == 2);
}

TEST_CASE("a run goes only to a node with its runtime and all of its labels") {
    placement p;
    add_ready(p, node_a, roomy_offer({"gpu"}));
    add_ready(p, node_b, roomy_offer({"gpu", "zone=2"}));
    auto needs = needs_of(little);
    needs.labels = {"gpu", "zone=2"};
    needs.runtime = "namespaces";
    CHECK(p.request(nth(1), needs) == placed{{nth(1), node_b}});
    needs.runtime = "vm";
    CHECK(p.request(nth(2), needs).empty());
    auto offer = roomy_offer({"gpu", "zone=2"});
    offer.runtimes.insert("vm");
    CHECK(p.put_node(node_c, offer, member_state::ready) == placed{{nth(2), node_c}});
}

TEST_CASE("why no node could ever take a run is said for a person") {
    placement p;
    auto needs = needs_of(little);
    CHECK(p.obstacle(needs) == "no node has joined");
    add_ready(p, node_a, roomy_offer({"gpu"}));
    CHECK_FALSE(p.obstacle(needs));
    needs.labels = {"gpu", "tpu"};
    CHECK(p.obstacle(needs) == "no node with its runtime has all of the labels gpu, tpu");
    needs.runtime = "vm";
    CHECK(p.obstacle(needs) == "no node offers the runtime vm");
    needs = needs_of(large);
    needs.wanted.memory = 9_GiB;
    CHECK(p.obstacle(needs)->find("9663676416 bytes of memory") != std::string::npos);
}

TEST_CASE("a node that holds the environment is preferred until it is a quarter busier") {
    placement p;
    add_ready(p, node_a);
    add_ready(p, node_b, roomy_offer({}, {"sha256:env"}));
    auto needs = needs_of(little); // an eighth of a node
    needs.digests = {"sha256:env"};
    CHECK(p.request(nth(1), needs) == placed{{nth(1), node_b}});
    CHECK(p.request(nth(2), needs) == placed{{nth(2), node_b}});
    CHECK(p.request(nth(3), needs) == placed{{nth(3), node_a}});
    p.change_digest(node_a, "sha256:env", true);
    p.change_digest(node_b, "sha256:env", false);
    CHECK(p.request(nth(4), needs) == placed{{nth(4), node_a}});
}

TEST_CASE("a node that holds environment and image is better than one that holds either") {
    placement p;
    add_ready(p, node_a, roomy_offer({}, {"sha256:env"}));
    add_ready(p, node_b, roomy_offer({}, {"sha256:image"}));
    add_ready(p, node_c, roomy_offer({}, {"sha256:env", "sha256:image"}));
    auto needs = needs_of(little);
    needs.digests = {"sha256:env", "sha256:image"};
    CHECK(p.request(nth(1), needs) == placed{{nth(1), node_c}});
}

TEST_CASE("suspect, draining, quarantined and joining nodes get nothing, and what waits starts when one is ready") {
    for (const auto state :
         {member_state::suspect, member_state::draining, member_state::quarantined, member_state::joining}) {
        placement p;
        CHECK(p.put_node(node_a, roomy_offer(), state).empty());
        CHECK(p.request(nth(1), needs_of(little)).empty());
        CHECK(p.waiting() == 1);
        CHECK(p.set_state(node_a, member_state::ready) == placed{{nth(1), node_a}});
        CHECK(p.set_state(node_a, state).empty());
        CHECK(p.release(nth(1)).empty());
    }
}

TEST_CASE("a retry avoids the node that it failed on while another could ever take it") {
    placement p;
    add_ready(p, node_a);
    add_ready(p, node_b);
    auto again = needs_of(large);
    again.avoid = {node_a};
    REQUIRE(p.request(nth(1), needs_of(large)) == placed{{nth(1), node_a}});
    REQUIRE(p.request(nth(2), needs_of(large)) == placed{{nth(2), node_b}});
    CHECK(p.request(nth(3), again).empty());
    CHECK(p.release(nth(1)).empty()); // room where it failed: it waits for the other
    CHECK(p.release(nth(2)) == placed{{nth(3), node_b}});
}

TEST_CASE("a retry goes back to the node that it failed on when no other could ever take it") {
    auto again = needs_of(large);
    again.avoid = {node_a};
    SECTION("the other is too small") {
        placement p;
        add_ready(p, node_a);
        auto tiny = roomy_offer();
        tiny.capacity = little;
        add_ready(p, node_b, tiny);
        CHECK(p.request(nth(1), again) == placed{{nth(1), node_a}});
    }
    SECTION("the other is lost while it waits") {
        placement p;
        add_ready(p, node_a);
        CHECK(p.put_node(node_b, roomy_offer(), member_state::suspect).empty());
        CHECK(p.request(nth(1), again).empty());
        CHECK(p.remove_node(node_b) == placed{{nth(1), node_a}});
    }
    SECTION("the other is quarantined, which may last") {
        placement p;
        add_ready(p, node_a);
        CHECK(p.put_node(node_b, roomy_offer(), member_state::suspect).empty());
        CHECK(p.request(nth(1), again).empty());
        CHECK(p.set_state(node_b, member_state::quarantined) == placed{{nth(1), node_a}});
    }
    SECTION("another comes while it waits for that node") {
        placement p;
        add_ready(p, node_a);
        REQUIRE(p.request(nth(1), needs_of(little)).size() == 1);
        CHECK(p.request(nth(2), again).empty()); // a is kept for it
        CHECK(p.put_node(node_b, roomy_offer(), member_state::suspect).empty());
        CHECK(p.request(nth(3), needs_of(little)).size() == 1); // a no longer is
        CHECK(p.set_state(node_b, member_state::ready) == placed{{nth(2), node_b}});
    }
}

TEST_CASE("a small run never starts on the node that is kept for a big one, and does elsewhere") {
    placement p;
    add_ready(p, node_a);
    REQUIRE(p.request(nth(1), needs_of(little)).size() == 1);
    REQUIRE(p.request(nth(2), needs_of(large)).empty());
    CHECK(p.request(nth(3), needs_of(little)).empty());
    CHECK(p.put_node(node_b, roomy_offer(), member_state::ready) == placed{{nth(2), node_b}, {nth(3), node_a}});
}

TEST_CASE("a big run starts in bounded time while small ones come for ever") {
    placement p;
    add_ready(p, node_a);
    add_ready(p, node_b);
    std::deque<run_key> alive;
    std::uint64_t next = 0;
    const auto note = [&](const placed& now) {
        bool big = false;
        for (const auto& one : now) {
            alive.push_back(one.run);
            big = big || one.run.cell == 1;
        }
        return big;
    };
    const auto small = [&] { return note(p.request(nth(next++), needs_of(little))); };
    for (int i = 0; i < 32; ++i) {
        REQUIRE_FALSE(small());
    }
    REQUIRE_FALSE(note(p.request({1, 0}, needs_of(large))));
    bool started = false;
    std::size_t ended = 0;
    for (; !started && ended < 100; ++ended) {
        const run_key done = alive.front();
        alive.pop_front();
        started = note(p.release(done));
        started = small() || started;
    }
    CHECK(started);
    CHECK(ended <= 32); // what was alive or had come before it has ended
}

TEST_CASE("runs that leave the queue make way, also the first and one in the middle") {
    placement p;
    add_ready(p, node_a);
    REQUIRE(p.request(nth(1), needs_of(little)).size() == 1);
    REQUIRE(p.request(nth(2), needs_of(large)).empty());
    REQUIRE(p.request(nth(3), needs_of(large)).empty());
    REQUIRE(p.request(nth(4), needs_of(little)).empty());
    CHECK(p.release(nth(3)).empty());
    CHECK(p.release(nth(9)).empty());
    CHECK(p.release(nth(2)) == placed{{nth(4), node_a}});
    CHECK(p.waiting() == 0);
}

TEST_CASE("a lost node's reservations go with it, and what was kept there waits for another") {
    placement p;
    add_ready(p, node_a);
    add_ready(p, node_b);
    REQUIRE(p.request(nth(1), needs_of(little)).size() == 1);
    REQUIRE(p.request(nth(2), needs_of(little)).size() == 1);
    REQUIRE(p.request(nth(3), needs_of(large)).empty());
    CHECK(p.remove_node(node_a).empty());
    CHECK(p.placed() == 1);
    CHECK(p.release(nth(1)).empty()); // was on the lost one
    CHECK(p.request(nth(4), needs_of(little)).empty());
    CHECK(p.release(nth(2)) == placed{{nth(3), node_b}});
}

TEST_CASE("runs that nodes kept alive over a restart take their place, even where there is less than they have") {
    placement p;
    auto shrunk = roomy_offer();
    shrunk.capacity.memory = 6_GiB;
    add_ready(p, node_a, shrunk);
    CHECK(p.adopt(nth(1), node_a, large));
    CHECK_FALSE(p.adopt(nth(1), node_a, large));
    CHECK_FALSE(p.adopt(nth(2), node_b, large));
    CHECK(p.request(nth(3), needs_of(little)).empty());
    CHECK(p.release(nth(1)) == placed{{nth(3), node_a}});
}
