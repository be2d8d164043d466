// Peers and disks that misbehave: what a connection costs then, and what it says.

#include "protocol/store/bulk_peer.test.hpp"
#include "protocol/store/chunk_outbox.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <utility>

#include <sys/mount.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::store;
using namespace chalk::store::test;

namespace {

namespace files = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_real = false; // a sanitizer keeps what was freed
#else
constexpr bool memory_is_real = true;
#endif

/// One peer of the tests', against one that is written by hand or held up.
class one_side {
  public:
    explicit one_side(bulk_settings settings = {}) {
        bulk_callbacks calls;
        calls.on_offer = [this](const offer& made) -> std::optional<files::path> {
            seen.note("offer");
            return results / made.run.str();
        };
        calls.on_stored = [this](const offer&, const files::path&) { seen.note("stored"); };
        calls.on_landed = [this](const offer&) { seen.note("landed"); };
        calls.on_refused = [this](const offer&, const bulk_error& why) {
            seen.note(fmt::format("refused {}", static_cast<int>(why.code)));
        };
        calls.on_lost = [this](const std::string& why) { seen.note(why); };
        peer.emplace(io_.context(), pool.executor(), shelf, nullptr, calls, settings);
    }
    ~one_side() { peer.reset(); }

    [[nodiscard]] hand_peer connect() {
        socket_pair both;
        peer->attach(std::move(both.a));
        return hand_peer(std::move(both.b));
    }

    std::shared_ptr<tree_shelf> shelf = std::make_shared<tree_shelf>();
    tally seen;
    files::path results;

  private:
    io_thread io_;

  public:
    small_pool pool;
    std::optional<bulk_peer> peer;
};

constexpr std::size_t many_mib = 200;

tree_digest shelve_many(tree_shelf& shelf, const files::path& folder) {
    files::create_directories(folder);
    for (std::size_t i = 0; i < many_mib; ++i) {
        std::ofstream(folder / fmt::format("{:03}", i), std::ios::binary) << noise(chunk_size.count, i);
    }
    return shelve(shelf, folder);
}

bulk_settings impatient() {
    bulk_settings settings;
    settings.deadline = milliseconds{400};
    settings.retry_pause = milliseconds{50};
    return settings;
}

/// A tree of one file, as text and chunk.
struct small_tree {
    explicit small_tree(std::string data) : content(std::move(data)) {
        tree_entry file;
        file.path = "f";
        file.size = {content.size()};
        file.chunks = {name_chunk(content)};
        manifest = tree_manifest::make({file}).value();
    }
    [[nodiscard]] manifest_piece whole() const {
        const auto text = manifest.text();
        return {manifest.digest(), static_cast<std::uint32_t>(text.size()), 0, text};
    }
    std::string content;
    tree_manifest manifest;
};

} // namespace

TEST_CASE("a peer that wants everything and reads nothing costs a few chunks, and loses its connection") {
    const chalk::test::temporary_folder folder;
    one_side test(impatient());
    const auto tree = shelve_many(*test.shelf, folder.path() / "big");
    const auto manifest = tree_manifest::parse(*test.shelf->find(tree)->text).value();
    reset_peak();
    const auto before = resident();
    auto deaf = test.connect();
    want_chunks want{tree, chunk_outbox::max_credits, {}};
    for (const auto& one : manifest.chunks()) {
        want.chunks.push_back(one.name);
    }
    for (std::size_t i = 0; i < max_trees_wanted; ++i) {
        deaf.send(want_tree{tree});
    }
    deaf.send(want);
    REQUIRE(test.seen.wait_for("the peer did not read from the bulk connection for 400 ms"));
    CHECK(test.peer->meter().most_held() < 3 * max_bulk_frame);
    CHECK(test.peer->meter().held() == 0);
    if (memory_is_real) {
        CHECK((peak_resident() - before).count < (40_MiB).count);
    }
}

TEST_CASE("a receiver whose disk stands still stops its sender, and goes on where it was") {
    const chalk::test::temporary_folder folder;
    one_side sender;
    one_side receiver;
    receiver.results = folder.path();
    const auto tree = shelve_many(*sender.shelf, folder.path() / "big");
    sender.peer->offer(result_of("run", tree));
    reset_peak();
    const auto before = resident();
    socket_pair both;
    sender.peer->attach(std::move(both.a));
    receiver.peer->attach(std::move(both.b));
    REQUIRE(eventually([&] { return sender.peer->meter().sent > (20_MiB).count; }));
    receiver.pool.hold(true);
    // Still: no more than what was asked for before is sent.
    std::uint64_t last = 0;
    REQUIRE(eventually([&] {
        const auto now = sender.peer->meter().sent.load();
        return std::exchange(last, now) == now;
    }));
    CHECK(last < (100_MiB).count);
    receiver.pool.hold(false);
    REQUIRE(sender.seen.wait_for("landed"));
    CHECK(sender.peer->meter().most_held() < 3 * max_bulk_frame);
    CHECK(receiver.peer->meter().most_held() < 3 * max_bulk_frame);
    if (memory_is_real) {
        CHECK((peak_resident() - before).count < (40_MiB).count);
    }
    CHECK(read_tree(folder.path() / "run", {}).value().tree.digest() == tree);
}

TEST_CASE("a sender that stands still loses its connection, and is asked for the rest on the next one") {
    const chalk::test::temporary_folder folder;
    one_side test(impatient());
    test.results = folder.path();
    const small_tree tree("content");
    {
        auto slow = test.connect();
        slow.send(result_of("run", tree.manifest.digest()));
        REQUIRE(std::holds_alternative<want_tree>(slow.next().value()));
        slow.send(tree.whole());
        REQUIRE(std::holds_alternative<want_chunks>(slow.next().value()));
        REQUIRE(test.seen.wait_for("nothing of what was asked for came over the bulk connection for 400 ms"));
        CHECK(!slow.next());
    }
    auto next = test.connect();
    const auto asked = std::get<want_chunks>(next.next().value()); // before it is offered again
    CHECK(asked.chunks.size() == 1);
    auto again = result_of("run", tree.manifest.digest());
    again.number = offer_number{7};
    next.send(again);
    next.send(chunk_sent{tree.manifest.chunks().front().name, tree.content});
    CHECK(std::get<landed>(next.next().value()).number == offer_number{7});
    CHECK(test.seen.count("stored") == 1);
    CHECK(test.seen.count("offer") == 1);
}

TEST_CASE("a chunk that is wrong three times fails its result with a message, and the connection stays") {
    const chalk::test::temporary_folder folder;
    one_side test;
    test.results = folder.path();
    const small_tree tree("content");
    auto liar = test.connect();
    liar.send(result_of("run", tree.manifest.digest()));
    REQUIRE(std::holds_alternative<want_tree>(liar.next().value()));
    liar.send(tree.whole());
    const auto name = tree.manifest.chunks().front().name;
    for (int i = 0; i < 3; ++i) {
        CHECK(std::get<want_chunks>(liar.next().value()).chunks == std::vector{name});
        liar.send(chunk_sent{name, "CONTENT"});
    }
    const auto answer = std::get<bulk_error>(liar.next().value());
    CHECK(answer.code == bulk_fault::offer_refused);
    CHECK(answer.message ==
          fmt::format("the tree {}: chunk {} arrived damaged 3 times", tree.manifest.digest().hex(), name.hex()));
    CHECK(files::is_empty(folder.path()));
    liar.send(want_tree{tree.manifest.digest()});
    CHECK(std::get<bulk_error>(liar.next().value()).code == bulk_fault::unknown_tree);
}

TEST_CASE("a peer that breaks a rule is cut and told why, and the others go on") {
    const chalk::test::temporary_folder folder;
    one_side test;
    one_side other;
    test.results = folder.path();
    const small_tree tree("content");
    auto honest = other.connect();

    std::vector<std::function<void(hand_peer&)>> crimes{
        [](hand_peer& peer) { peer.send_bytes(std::string("\xF0\0\0\0\x04", 5)); },
        [&](hand_peer& peer) {
            for (std::size_t i = 0; i < 3 * max_trees_wanted; ++i) {
                peer.send(want_tree{tree.manifest.digest()});
            }
            // Answered ones do not count: many at once do, in one piece.
            std::string many;
            for (std::size_t i = 0; i < 1000; ++i) {
                many += to_frame(want_tree{tree.manifest.digest()}).value();
            }
            peer.send_bytes(many);
        },
        [&](hand_peer& peer) {
            auto made = result_of("run", tree.manifest.digest());
            peer.send(made);
            peer.send(made); // the same number
        },
        [&](hand_peer& peer) {
            auto made = result_of("other", tree.manifest.digest());
            made.number = offer_number{2};
            peer.send(made);
            auto piece = tree.whole();
            piece.offset = 5;
            piece.data = "ab";
            peer.send(piece);
        },
    };
    for (std::size_t i = 0; i < crimes.size(); ++i) {
        INFO("crime " << i);
        auto bad = test.connect();
        crimes[i](bad);
        std::optional<bulk_error> last;
        while (const auto message = bad.next()) {
            if (const auto* error = std::get_if<bulk_error>(&*message)) {
                last = *error;
            }
        }
        CHECK(eventually([&] {
            const auto all = test.seen.all();
            return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const std::string& one) {
                       return one.starts_with("the peer broke a rule of the bulk connection");
                   })) == i + 1;
        }));
    }
    honest.send(want_tree{tree.manifest.digest()});
    CHECK(std::get<bulk_error>(honest.next().value()).code == bulk_fault::unknown_tree);
    auto better = test.connect();
    better.send(want_tree{tree.manifest.digest()});
}

TEST_CASE("a result that the disk has no room for is answered so, and lands when there is room") {
    const chalk::test::temporary_folder folder;
    const auto tiny = folder.path() / "tiny";
    files::create_directories(tiny);
    if (::geteuid() != 0 || ::mount("tmpfs", tiny.c_str(), "tmpfs", 0, "size=3m") != 0) {
        CHALK_SKIP("a full disk is a small tmpfs, and mounting one needs root");
    }
    {
        one_side sender(impatient());
        one_side receiver(impatient());
        receiver.results = tiny;
        std::ofstream(tiny / "filler") << noise((2_MiB).count, 1);
        folder.write("spool/large", noise((2_MiB).count, 2));
        const auto tree = shelve(*sender.shelf, folder.path() / "spool");
        sender.peer->offer(result_of("run", tree));
        socket_pair both;
        sender.peer->attach(std::move(both.a));
        receiver.peer->attach(std::move(both.b));
        CHECK(sender.seen.wait_for(fmt::format("refused {}", static_cast<int>(bulk_fault::no_room))));
        files::remove(tiny / "filler");
        CHECK(sender.seen.wait_for("landed"));
        CHECK(read_tree(tiny / "run", {}).value().tree.digest() == tree);
        CHECK(std::distance(files::directory_iterator(tiny), {}) == 1);
    }
    CHECK(::umount2(tiny.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("how fast bulk data crosses a local socket", "[.measure]") {
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point start) {
        return std::chrono::duration<double>(clock::now() - start).count();
    };
    const chalk::test::temporary_folder folder;
    one_side sender;
    one_side receiver;
    receiver.results = folder.path() / "results";
    files::create_directories(receiver.results);
    const auto tree = shelve_many(*sender.shelf, folder.path() / "big");
    const auto data = noise(chunk_size.count, 3);
    auto start = clock::now();
    for (std::size_t i = 0; i < many_mib; ++i) {
        CHECK(name_chunk(data).sum[0] == name_chunk(data).sum[0]);
    }
    std::cout << fmt::format("floor: one SHA-256 {:.0f} MiB/s\n", 2.0 * 2 * many_mib / 2 / since(start));
    socket_pair both;
    sender.peer->attach(std::move(both.a));
    receiver.peer->attach(std::move(both.b));
    start = clock::now();
    sender.peer->offer(result_of("big", tree));
    REQUIRE(sender.seen.wait_for("landed"));
    std::cout << fmt::format("200 MiB in files of 1 MiB, synced: {:.0f} MiB/s\n", many_mib / since(start));
    constexpr std::size_t runs = 1000;
    for (std::size_t i = 0; i < runs; ++i) {
        folder.write(fmt::format("spool/{}/transcript.jsonl", i), noise(2048, i));
    }
    std::vector<tree_digest> trees;
    for (std::size_t i = 0; i < runs; ++i) {
        trees.push_back(shelve(*sender.shelf, folder.path() / "spool" / std::to_string(i)));
    }
    start = clock::now();
    for (std::size_t i = 0; i < runs; ++i) {
        sender.peer->offer(result_of(fmt::format("r{}", i), trees[i]));
    }
    REQUIRE(sender.seen.wait_for("landed", runs + 1));
    std::cout << fmt::format("transcripts of 2 KiB, synced: {:.0f} results/s\n", runs / since(start));
}
