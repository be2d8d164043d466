// Two processes' sides over real sockets: environments one way, results the other.

#include "protocol/store/bulk_peer.test.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

using namespace chalk;
using namespace chalk::store;
using namespace chalk::store::test;

namespace {

namespace fs = std::filesystem;

/// A coordinator that takes every result and a node, each with a shelf of its own. Ends in the order that is needed.
class two_sides {
  public:
    explicit two_sides(bulk_settings settings = {}) : settings_(settings) {
        fs::create_directories(results());
        node.cache = chunk_cache::open(folder.path() / "cache", {64_MiB, milliseconds{5000}}).value();
        bulk_callbacks to_node;
        to_node.on_offer = [this](const offer& made) {
            coordinator.seen.note("offer");
            return std::optional(results() / made.run.str());
        };
        to_node.on_stored = [this](const offer& made, const fs::path&) {
            coordinator.seen.note("stored " + made.run.str());
        };
        to_node.on_lost = [this](const std::string&) { coordinator.seen.note("lost"); };
        node_peer.emplace(io_.context(), pool.executor(), coordinator.shelf, nullptr, to_node, settings_);
        bulk_callbacks to_coordinator;
        to_coordinator.on_landed = [this](const offer& made) {
            node.seen.note("landed");
            node.seen.note("landed " + made.run.str());
        };
        to_coordinator.on_refused = [this](const offer&, const bulk_error& why) { node.seen.note(why.message); };
        to_coordinator.on_lost = [this](const std::string&) { node.seen.note("lost"); };
        coordinator_peer.emplace(io_.context(), pool.executor(), node.shelf, node.cache, to_coordinator, settings_);
    }
    ~two_sides() {
        node_peer.reset();
        coordinator_peer.reset();
    }

    void connect() {
        socket_pair both;
        node_peer->attach(std::move(both.a));
        coordinator_peer->attach(std::move(both.b));
    }
    void fetch(const tree_digest& tree, const std::string& to) {
        coordinator_peer->fetch(tree, folder.path() / to, durability::until_restart, [this, to](result<void> done) {
            node.seen.note(to + (done ? " fetched" : ": " + done.error().message));
        });
    }
    [[nodiscard]] fs::path results() const { return folder.path() / "results"; }

    chalk::test::temporary_folder folder;
    side coordinator;
    side node;

  private:
    bulk_settings settings_;
    // The pool ends after the peers, and before the io thread.
    io_thread io_;

  public:
    small_pool pool;
    std::optional<bulk_peer> node_peer;        ///< the coordinator's, for the node
    std::optional<bulk_peer> coordinator_peer; ///< the node's
};

} // namespace

TEST_CASE("an environment comes over the connection once, and out of the cache from then on") {
    two_sides test;
    test.folder.write("env/task.py", "print('task')");
    test.folder.write("env/data/large", noise(3 * chunk_size.count + 17, 1));
    const auto tree = shelve(*test.coordinator.shelf, test.folder.path() / "env");
    test.connect();
    // Together, as several runs of one environment ask for it.
    for (int i = 0; i < 6; ++i) {
        test.fetch(tree, fmt::format("run-{}", i));
    }
    for (int i = 0; i < 6; ++i) {
        REQUIRE(test.node.seen.wait_for(fmt::format("run-{} fetched", i)));
        CHECK(read_tree(test.folder.path() / fmt::format("run-{}", i), {}).value().tree.digest() == tree);
    }
    const auto received = test.coordinator_peer->meter().received.load();
    CHECK(received > 3 * chunk_size.count);
    CHECK(received < 3 * chunk_size.count + 64 * 1024);
    test.fetch(tree, "again");
    REQUIRE(test.node.seen.wait_for("again fetched"));
    CHECK(test.coordinator_peer->meter().received.load() == received);
    CHECK(test.node.seen.count("lost") == 0);
}

TEST_CASE("a tree that the peer has not got fails its fetch by name, and the connection goes on") {
    two_sides test;
    test.folder.write("env/a", "a");
    test.connect();
    const tree_digest nowhere{name_chunk("nowhere").sum};
    test.fetch(nowhere, "none");
    REQUIRE(test.node.seen.wait_for(
        fmt::format("none: the tree {} cannot be had: it is not here (any more)", nowhere.hex())));
    test.fetch(shelve(*test.coordinator.shelf, test.folder.path() / "env"), "there");
    REQUIRE(test.node.seen.wait_for("there fetched"));
}

TEST_CASE("each of 500 results lands once, and all of them are offered until they are dropped") {
    two_sides test;
    constexpr int runs = 500;
    for (int i = 0; i < runs; ++i) {
        const auto run = fmt::format("run-{}", i);
        test.folder.write("spool/" + run + "/transcript.jsonl", noise(2048, static_cast<std::uint64_t>(i)));
        test.coordinator_peer->offer(result_of(run, shelve(*test.node.shelf, test.folder.path() / "spool" / run)));
    }
    test.connect();
    REQUIRE(test.node.seen.wait_for("landed", runs));
    for (int i = 0; i < runs; ++i) {
        const auto run = fmt::format("run-{}", i);
        CHECK(test.coordinator.seen.count("stored " + run) == 1);
        CHECK(read_tree(test.results() / run, {}).value().tree.digest() ==
              read_tree(test.folder.path() / "spool" / run, {}).value().tree.digest());
    }
    CHECK(std::distance(fs::directory_iterator(test.results()), {}) == runs);

    // Nobody said that they are journalled: they are offered again, and not sent again.
    for (int i = 1; i < runs; ++i) {
        test.coordinator_peer->dropped(run_id::parse(fmt::format("run-{}", i)).value(), attempt_number{1},
                                       result_token{1});
    }
    test.connect();
    REQUIRE(test.node.seen.wait_for("landed run-0", 2));
    CHECK(test.coordinator.seen.count("offer") == runs + 1);
    CHECK(test.node.seen.count("landed") == runs + 1);
}

TEST_CASE("a result with one content in several places, empty files and links is what the node had") {
    two_sides test;
    test.folder.write("spool/twice", std::string(2 * chunk_size.count, 'x') + "end");
    test.folder.write("spool/deep/er/copy", std::string(chunk_size.count, 'x'));
    test.folder.write("spool/empty", "");
    fs::create_symlink("deep/er", test.folder.path() / "spool/link");
    fs::permissions(test.folder.path() / "spool/twice", fs::perms::owner_all);
    const auto tree = shelve(*test.node.shelf, test.folder.path() / "spool");
    test.coordinator_peer->offer(result_of("run", tree));
    test.connect();
    REQUIRE(test.node.seen.wait_for("landed run"));
    CHECK(read_tree(test.results() / "run", {}).value().tree.digest() == tree);
    CHECK(test.coordinator_peer->meter().sent < chunk_size.count + 4096); // each content once
}

TEST_CASE("a result for a place that holds something else is refused, and the place stays") {
    two_sides test;
    test.folder.write("spool/a", "new");
    test.folder.write("results/run/a", "old");
    test.coordinator_peer->offer(result_of("run", shelve(*test.node.shelf, test.folder.path() / "spool")));
    test.connect();
    const auto refused = [&] {
        const auto all = test.node.seen.all();
        return std::any_of(all.begin(), all.end(), [](const std::string& one) {
            return one.find("holds something else than the tree") != std::string::npos;
        });
    };
    CHECK(eventually(refused));
    CHECK(test.node.seen.count("landed") == 0);
    CHECK(fs::file_size(test.results() / "run/a") == 3);
}

TEST_CASE("over connections that are cut at any byte everything arrives, and nothing twice") {
    two_sides test;
    constexpr int runs = 60;
    std::vector<tree_digest> results;
    for (int i = 0; i < runs; ++i) {
        const auto run = fmt::format("run-{}", i);
        test.folder.write("spool/" + run + "/transcript.jsonl", noise(20'000, static_cast<std::uint64_t>(i)));
        results.push_back(shelve(*test.node.shelf, test.folder.path() / "spool" / run));
        test.coordinator_peer->offer(result_of(run, results.back()));
    }
    for (std::uint64_t i = 0; i < 12; ++i) {
        test.folder.write(fmt::format("env/{}", i), noise(chunk_size.count - 5, 1000 + i));
    }
    const auto environment = shelve(*test.coordinator.shelf, test.folder.path() / "env");
    test.fetch(environment, "env-here");
    std::mt19937 random(5);
    for (std::size_t i = 0; i < 30; ++i) {
        socket_pair near;
        socket_pair far;
        test.node_peer->attach(std::move(near.a));
        test.coordinator_peer->attach(std::move(far.a));
        const cutting_relay relay(std::move(near.b), std::move(far.b), 1 + random() % 1'500'000);
        // Either side sees its end; where all has arrived before, the relay stops here.
        REQUIRE(eventually([&] {
            return (test.node.seen.count("lost") > i && test.coordinator.seen.count("lost") > i) ||
                   (test.node.seen.count("env-here fetched") == 1 && test.node.seen.count("landed") >= runs);
        }));
        if (test.node.seen.count("env-here fetched") == 1 && i > 20) {
            break;
        }
    }
    test.connect();
    REQUIRE(test.node.seen.wait_for("env-here fetched"));
    CHECK(test.node.seen.count("env-here fetched") == 1);
    for (int i = 0; i < runs; ++i) {
        const auto run = fmt::format("run-{}", i);
        REQUIRE(test.node.seen.wait_for("landed " + run));
        CHECK(read_tree(test.results() / run, {}).value().tree.digest() == results[static_cast<std::size_t>(i)]);
    }
    CHECK(read_tree(test.folder.path() / "env-here", {}).value().tree.digest() == environment);
    CHECK(std::distance(fs::directory_iterator(test.results()), {}) == runs); // nor anything unfinished
}

TEST_CASE("a fetch whose peer object ends is told so once") {
    two_sides test;
    test.connect();
    const tree_digest nowhere{name_chunk("nowhere").sum};
    test.pool.hold(true);
    test.fetch(nowhere, "none");
    test.coordinator_peer.reset();
    REQUIRE(test.node.seen.wait_for(fmt::format("none: the tree {} was not fetched: its owner ended", nowhere.hex())));
    test.pool.hold(false);
}
