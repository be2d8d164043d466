#include "actors/cluster/links.test.hpp"

#include "actors/cluster/credit_window.hpp"
#include "tests/support/catch.hpp"

#include <caf/binary_serializer.hpp>

#include <csignal>
#include <fstream>
#include <random>

#include <sys/socket.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::actors;
using namespace chalk::test;
using namespace std::chrono_literals;

namespace {

/// MiB that a process has had at most.
std::uint64_t most_memory(const std::string& pid) {
    std::ifstream status("/proc/" + pid + "/status");
    for (std::string word; status >> word;) {
        if (word == "VmHWM:") {
            std::uint64_t kib = 0;
            status >> kib;
            return kib / 1024;
        }
    }
    return 0;
}

std::string raw_frame(std::uint8_t operation, std::uint32_t length, const std::string& payload) {
    std::string frame(link_frames::header_size, '\0');
    frame[0] = static_cast<char>(operation);
    for (std::size_t i = 0; i < 4; ++i) {
        frame[4 + i] = static_cast<char>(length >> (24 - 8 * i) & 0xffU);
    }
    return frame + payload;
}

/// A process's name as CAF writes it.
caf::node_id raw_node(std::uint8_t process) {
    caf::node_id::default_data::host_id_type host{};
    host.fill(process);
    return caf::make_node_id(1, host);
}

template<class... Ts>
std::string raw_payload(caf::actor_system& system, const Ts&... what) {
    std::vector<char> bytes;
    caf::binary_serializer sink(system, bytes);
    REQUIRE_FALSE(sink(what...));
    return {bytes.begin(), bytes.end()};
}

/// What the dialing side of that process says first, written down by hand.
std::string raw_handshake(caf::actor_system& system, std::uint8_t process) {
    const auto payload = raw_payload(system, raw_node(process));
    return raw_frame(1, static_cast<std::uint32_t>(payload.size()), payload);
}

void write_raw(const unique_fd& to, const std::string& what) {
    REQUIRE(::send(to.get(), what.data(), what.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(what.size()));
}

/// Both ends in one process: two actor systems that know nothing of one another but the link.
struct two_sides {
    link_process far;
    link_process near;

    std::optional<far_root> link() {
        auto [ours, theirs] = link_sockets();
        far.its_links.adopt("near", std::move(theirs));
        return near.dial(std::move(ours));
    }
};

/// Sends `left` messages of 64 KiB, as many at once as the window lets, and says to `whom` how it ended.
caf::behavior send_stream(caf::event_based_actor* self, const far_root& to, int left, const caf::actor& whom) {
    struct stream {
        credit_window window{16};
        int to_send;
        int to_hear;
        std::string blob = std::string(64 * 1024, 'b');
    };
    auto state = std::make_shared<stream>();
    state->to_send = left;
    state->to_hear = left;
    const auto end = [=](const std::string& why) {
        self->send(whom, why);
        self->quit();
    };
    return {[=](caf::tick_atom) {
        while (state->to_send > 0 && state->window.take()) {
            --state->to_send;
            self->request(to, 60s, caf::put_atom_v, state->blob)
                .then(
                    [=](std::uint64_t returned) {
                        if (!state->window.give_back(returned)) {
                            end("more credit than was taken");
                        } else if (--state->to_hear == 0) {
                            end("all answered");
                        } else {
                            self->send(self, caf::tick_atom_v);
                        }
                    },
                    [=](const caf::error& why) { end(self->system().render(why)); });
        }
    }};
}

/// The other side may or may not have had the last word of the handshake.
bool ended(link_log& log) {
    for (int round = 0; round < 400; ++round) {
        if (log.take<link_lost>(25ms) || log.take<link_failed>(25ms)) {
            return true;
        }
    }
    return false;
}

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t memory_bound = 700; // it keeps what was freed for a while
#else
constexpr std::uint64_t memory_bound = 64;
#endif

} // namespace

TEST_CASE("a message goes over a link and its answer comes back") {
    two_sides sides;
    const auto root = sides.link();
    REQUIRE(root);
    CHECK(sides.near.ask(*root, "hello") == "hello");
    const std::string big(3'000'000, 'x');
    CHECK(sides.near.ask(*root, big) == big);
    CHECK(sides.near.system.node() != sides.far.system.node());
    const auto accepted = sides.far.log->take<peer_linked>();
    REQUIRE(accepted);
    CHECK(accepted->peer == "near");
    CHECK(accepted->root == nullptr);
}

TEST_CASE("a root that does not take our messages is refused") {
    two_sides sides;
    auto [ours, theirs] = link_sockets();
    sides.far.its_links.adopt("near", std::move(theirs));
    using other = caf::typed_actor<caf::replies_to<double>::with<double>>;
    sides.near.its_links.connect<other>("far", std::move(ours));
    const auto failed = sides.near.log->take<link_failed>();
    REQUIRE(failed);
    CHECK_THAT(failed->why.message, Catch::Contains("does not take the messages"));
    CHECK(ended(*sides.far.log));
}

TEST_CASE("a link to a peer that says nothing fails at its deadline, on both sides") {
    link_process near({200ms, 1_MiB});
    auto [one, silent_one] = link_sockets();
    auto [two, silent_two] = link_sockets();
    near.its_links.adopt("silent", std::move(one));
    near.its_links.connect<far_root>("silent", std::move(two));
    for (int i = 0; i < 2; ++i) {
        const auto failed = near.log->take<link_failed>();
        REQUIRE(failed);
        CHECK(failed->why.kind == error_class::timeout);
        CHECK_THAT(failed->why.message, Catch::Contains("'silent'"));
    }
    char byte = 0;
    while (::recv(silent_one.get(), &byte, 1, 0) == 1) {
    }
    CHECK(::recv(silent_two.get(), &byte, 1, 0) == 0);
}

TEST_CASE("a new link works after a loss, and the old handle stays dead") {
    two_sides sides;
    const auto old = sides.link();
    REQUIRE(old);
    const auto accepted = sides.far.log->take<peer_linked>();
    REQUIRE(accepted);
    sides.far.its_links.cut(accepted->number, "for a test");
    const auto lost = sides.near.log->take<link_lost>();
    REQUIRE(lost);
    CHECK(lost->root == caf::actor_cast<caf::strong_actor_ptr>(*old));
    CHECK(sides.far.log->take<link_lost>().value().why == "for a test");

    const auto again = sides.link();
    REQUIRE(again);
    CHECK(sides.near.ask(*again, "again") == "again");
    CHECK_THAT(sides.near.ask(*old, "dead", 200ms), Catch::StartsWith("error"));
    CHECK(*again == *old);
}

TEST_CASE("a new link to a process takes the place of one whose loss nobody has noticed") {
    two_sides sides;
    const auto old = sides.link();
    REQUIRE(old);
    const auto again = sides.link();
    REQUIRE(again);
    CHECK_THAT(sides.near.log->take<link_lost>().value().why, Catch::Contains("took its place"));
    CHECK(sides.far.log->take<link_lost>());
    for (int i = 0; i < 20; ++i) {
        CHECK(sides.near.ask(*again, "still") == "still");
    }
    CHECK_FALSE(sides.near.log->take<link_lost>(100ms));
}

TEST_CASE("random bytes end their link and no other") {
    two_sides sides;
    const auto root = sides.link();
    REQUIRE(root);
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
        auto [one, raw_one] = link_sockets();
        auto [two, raw_two] = link_sockets();
        sides.near.its_links.connect<far_root>("broken", std::move(one));
        sides.near.its_links.adopt("broken", std::move(two));
        std::string bytes(4096, '\0');
        for (auto& byte : bytes) {
            byte = static_cast<char>(random());
        }
        write_raw(raw_one, bytes);
        write_raw(raw_two, bytes);
        REQUIRE(sides.near.log->take<link_failed>());
        REQUIRE(sides.near.log->take<link_failed>());
    }
    CHECK(sides.near.ask(*root, "alive") == "alive");
}

TEST_CASE("a header that claims gigabytes ends its link and takes no memory") {
    link_process near;
    const auto before = most_memory("self");
    for (std::uint8_t round = 1; round <= 20; ++round) {
        auto [ours, raw] = link_sockets();
        near.its_links.adopt("bomb", std::move(ours));
        write_raw(raw, raw_handshake(near.system, round));
        REQUIRE(near.log->take<peer_linked>());
        write_raw(raw, raw_frame(2, 0xF0000000, {}));
        CHECK_THAT(near.log->take<link_lost>().value().why, Catch::Contains("4026531840"));
    }
    CHECK(most_memory("self") - before < 64);
}

TEST_CASE("an actor system ends while a peer reads nothing and a peer says nothing") {
    auto [ours, raw] = link_sockets();
    auto [quiet, silent] = link_sockets();
    link_process near;
    near.its_links.adopt("full", std::move(ours));
    near.its_links.adopt("silent", std::move(quiet));
    write_raw(raw, raw_handshake(near.system, 1));
    REQUIRE(near.log->take<peer_linked>());
    // Each asks to be told of the end of an actor that does not exist; the answers are more than a socket holds.
    const auto payload = raw_payload(near.system, raw_node(1), near.system.node());
    auto question = raw_frame(4, static_cast<std::uint32_t>(payload.size()), payload);
    question[link_frames::header_size - 1] = '\x7f';
    for (int i = 0; i < 20'000; ++i) {
        write_raw(raw, question);
    }
}

TEST_CASE("a killed peer is noticed, and a stopped one only by its deadline") {
    auto [ours, theirs] = link_sockets();
    const far_process far(std::move(theirs));
    theirs.reset();
    link_process near;
    const auto root = near.dial(std::move(ours));
    REQUIRE(root);
    REQUIRE(near.ask(*root, "up") == "up");

    far.signal(SIGSTOP);
    CHECK_THAT(near.ask(*root, "stopped", 300ms), Catch::Contains("request_timeout"));
    far.signal(SIGCONT);
    CHECK(near.ask(*root, "goes on") == "goes on");

    caf::scoped_actor self(near.system);
    self->monitor(*root);
    far.signal(SIGKILL);
    bool down = false;
    self->receive([&](const caf::down_msg& of) { down = of.source == root->address(); }, caf::after(20s) >> [] {});
    CHECK(down);
    CHECK(near.log->take<link_lost>());
    CHECK_THAT(near.ask(*root, "dead", 200ms), Catch::StartsWith("error"));
}

TEST_CASE("20,000 messages of 64 KiB with credits stay within a bounded memory on both sides") {
    auto [ours, theirs] = link_sockets();
    const far_process far(std::move(theirs));
    link_process near;
    const auto root = near.dial(std::move(ours));
    REQUIRE(root);

    const auto before = most_memory("self");
    caf::scoped_actor self(near.system);
    const auto sender = near.system.spawn(send_stream, *root, 20'000, caf::actor_cast<caf::actor>(self));
    caf::anon_send(sender, caf::tick_atom_v);
    std::string outcome = "nothing";
    self->receive([&](const std::string& what) { outcome = what; }, caf::after(240s) >> [] {});
    CHECK(outcome == "all answered");
    CHECK(most_memory("self") - before < memory_bound);
    CHECK(most_memory(std::to_string(far.pid())) < memory_bound);
}
