// Strangers at a front: none comes in, each is counted by why, and an honest node joins meanwhile.
#include "protocol/cluster/front.test.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/post.hpp>

#include <future>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>

using namespace chalk;
using namespace chalk::cluster;
using namespace chalk::cluster::test;

namespace {

constexpr int crowd = 1000;

/// A thousand connections here, and their other ends.
void need_descriptors() {
    rlimit now{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &now) == 0);
    if (now.rlim_cur < 4096) {
        now.rlim_cur = std::min<rlim_t>(4096, now.rlim_max);
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
    }
}

std::vector<unique_fd> silent_crowd(std::uint16_t port) {
    need_descriptors();
    std::vector<unique_fd> all;
    for (int i = 0; i < crowd; ++i) {
        all.push_back(raw_connection(port, "127.0.0.2"));
    }
    return all;
}

struct thread_use {
    std::chrono::steady_clock::time_point at;
    double cpu_seconds = 0;
    long turns = 0; ///< times that it went to sleep
};

thread_use use_of(io_thread& io) {
    const auto told = std::make_shared<std::promise<thread_use>>();
    auto ready = told->get_future();
    boost::asio::post(io.context(), [told] {
        rusage now{};
        ::getrusage(RUSAGE_THREAD, &now);
        const auto in_seconds = [](const timeval& t) {
            return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
        };
        told->set_value(
            {std::chrono::steady_clock::now(), in_seconds(now.ru_utime) + in_seconds(now.ru_stime), now.ru_nvcsw});
    });
    REQUIRE(ready.wait_for(patience) == std::future_status::ready);
    return ready.get();
}

/// Cpu time needs time to be used in: a second passes here, and what was really one is measured.
void check_idle(io_thread& io) {
    const auto before = use_of(io);
    std::this_thread::sleep_for(seconds(1));
    const auto after = use_of(io);
    const std::chrono::duration<double> passed = after.at - before.at;
    const auto share = (after.cpu_seconds - before.cpu_seconds) / passed.count();
    const auto turns = after.turns - before.turns;
    CAPTURE(share, turns);
    CHECK(share < 0.05); // of a core
    CHECK(turns < 10);   // the two questions of ours are turns themselves
}

front_settings with_rate(double per_second, double burst) {
    front_settings made;
    made.rate.per_second = per_second;
    made.rate.burst = burst;
    return made;
}

/// A dialer on a thread of its own, as another process is.
struct honest_node {
    explicit honest_node(const test_authority& ours)
        : dialing(*dialer::make(io.context(), ours.identity("node-1", 11), only({"hub"}))) {}
    bool joins(std::uint16_t port, milliseconds within = seconds(2)) {
        return dial(*dialing, {.host = "127.0.0.1", .port = port, .expected_name = name("hub"), .deadline = within})
            .has_value();
    }
    io_thread io;
    std::shared_ptr<dialer> dialing;
};

/// What a front says of a peer with these habits; it must have been kept out.
refusal refused_with(watched_front& listening, const tls_habits& habits) {
    raw_tls peer(raw_connection(listening->port()), habits, tls_role::connects);
    if (peer.handshake()) {
        const auto answer = peer.read(1);
        CHECK(answer != "A");
        CHECK(peer.read(1).empty());
    }
    CHECK(is_over(peer.fd()));
    auto why = listening.next_refusal();
    CHECK(listening.nobody_came_in());
    CHECK(listening->peers() == 0);
    CHECK(listening->refused(why.reason) >= 1);
    return why;
}

} // namespace

TEST_CASE("an honest node joins within two seconds beside 1,000 silent connections, which are gone at the deadline") {
    const test_authority ours;
    struct way {
        const char* what;
        std::size_t places;
        front_settings settings;
    };
    const auto [what, places, settings] =
        GENERATE(way{"the address connects too often", 64, {}}, way{"the room is full", 64, with_rate(0, 1e6)},
                 way{"all of them wait", 2000, with_rate(0, 1e6)});
    CAPTURE(what);
    auto chosen = settings;
    chosen.most_waiting = places;
    chosen.handshake_deadline = milliseconds(3000);
    watched_front listening(ours.identity("hub"), only({"node-1"}), chosen);
    honest_node honest(ours);
    // The first of each kind of descriptor stays: signals, the resolver.
    REQUIRE(honest.joins(listening->port()));
    listening.next_peer().socket.reset();
    REQUIRE(eventually([&] { return listening->peers() == 0; }));
    const auto before = open_descriptors();

    auto silent = silent_crowd(listening->port());
    CHECK(listening->waiting() <= places);
    CHECK(honest.joins(listening->port()));
    CHECK(listening->waiting() <= places);
    listening.next_peer().socket.reset();

    for (const auto& one : silent) {
        CHECK(is_over(one.get()));
    }
    CHECK(listening->waiting() == 0);
    silent.clear();
    CHECK(eventually([&] { return open_descriptors() <= before; }));
    const auto sum = listening->refused(refusal_reason::too_fast) + listening->refused(refusal_reason::pushed_out) +
                     listening->refused(refusal_reason::too_slow) + listening->refused(refusal_reason::left);
    CHECK(sum == crowd);
    CHECK(listening.nobody_came_in());
}

TEST_CASE("1,000 silent connections cost no turn of the io thread, neither while they wait nor when they are gone") {
    const test_authority ours;
    auto settings = with_rate(0, 1e6);
    settings.most_waiting = 2000;
    settings.handshake_deadline = seconds(60);
    watched_front listening(ours.identity("hub"), only({"node-1"}), settings);
    auto silent = silent_crowd(listening->port());
    REQUIRE(eventually([&] { return listening->waiting() == crowd; }));
    check_idle(listening.io());
    silent.clear();
    REQUIRE(eventually([&] { return listening->waiting() == 0; }));
    check_idle(listening.io());
}

TEST_CASE("open connections that say nothing cost no turn of the io thread, ended in one direction or not") {
    const test_authority ours;
    watched_front listening(ours.identity("hub"), only({"node-1"}));
    honest_node honest(ours);
    const dial_target hub{.host = "127.0.0.1", .port = listening->port()};
    auto idle = dial(*honest.dialing, hub);
    auto idle_far = listening.next_peer();
    auto half = dial(*honest.dialing, hub);
    auto half_far = listening.next_peer();
    auto stuck = dial(*honest.dialing, hub);
    auto stuck_far = listening.next_peer();
    REQUIRE((idle && half && stuck));
    ::shutdown(half->socket.get(), SHUT_WR);
    CHECK(read_to_end(half_far.socket.get()).empty());
    const std::string piece(64 * 1024, 'x');
    while (::send(stuck->socket.get(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    check_idle(listening.io());
    check_idle(honest.io);
}

TEST_CASE("a front refuses whoever does not belong, and says why") {
    const test_authority ours;
    const test_authority theirs;
    auto identity = ours.identity("hub");
    identity.crl_pem = ours.revoking(13);
    watched_front listening(identity, only({"node-1"}));
    const auto reason = [&](const tls_habits& habits) { return refused_with(listening, habits).reason; };
    using enum refusal_reason;

    CHECK(reason({}) == no_certificate);
    CHECK(reason({.shows = theirs.issue("node-1")}) == foreign_authority);
    CHECK(reason({.shows = ours.issue("node-1", 1, days(-10, -1))}) == expired);
    CHECK(reason({.shows = ours.issue("node-1", 1, days(1, 10))}) == not_yet_valid);
    CHECK(reason({.shows = ours.issue("node-1", 13)}) == revoked);
    CHECK(reason({.shows = ours.issue("node-9")}) == not_allowed);
    CHECK(reason({.shows = odd_node_pem(*ours, "")}) == no_single_name);
    CHECK(reason({.shows = odd_node_pem(*ours, "DNS:node-1,DNS:node-9")}) == no_single_name);
    CHECK(reason({.shows = odd_node_pem(*ours, "DNS:*")}) == no_single_name);
    CHECK(reason({.shows = odd_node_pem(*ours, "DNS:node-1", "serverAuth")}) == wrong_use);
    CHECK(reason({.shows = (*ours).pem().value()}) == not_a_node);
    const auto good = ours.issue("node-1");
    CHECK(reason({.shows = good, .lowest_version = TLS1_2_VERSION, .highest_version = TLS1_2_VERSION}) == tls_version);
    CHECK(reason({.shows = good, .alpn = ""}) == no_channel);
    CHECK(reason({.shows = good, .alpn = "h2"}) == no_channel);
    CHECK(listening->waiting() == 0);

    // The operator is told whose it was.
    CHECK(refused_with(listening, {.shows = ours.issue("node-1", 13)}).detail ==
          "the certificate of node-1 was revoked");
    CHECK(refused_with(listening, {.shows = ours.issue("node-9")}).name == name("node-9"));

    // And with all of it right:
    raw_tls peer(raw_connection(listening->port()), {.shows = good}, tls_role::connects);
    REQUIRE(peer.handshake());
    CHECK(peer.read(1) == "A");
    CHECK(listening.next_peer().name == name("node-1"));
}

TEST_CASE("a dialer that will not have the front's certificate leaves, and both say why") {
    const test_authority ours;
    const test_authority theirs;
    watched_front listening(theirs.identity("hub"), allow_list::everyone());
    honest_node honest(ours);
    const auto outcome = dial(*honest.dialing, {.host = "127.0.0.1", .port = listening->port()});
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == dial_error::bad_certificate);
    const auto why = listening.next_refusal();
    CHECK(why.reason == refusal_reason::left);
    CHECK(why.detail.find("the peer sent: alert") != std::string::npos);
}

TEST_CASE("an empty allow list lets nobody in, and everybody's list all of our authority") {
    const test_authority ours;
    const auto good = ours.issue("node-1");
    watched_front closed(ours.identity("hub"), only({}));
    CHECK(refused_with(closed, {.shows = good}).reason == refusal_reason::not_allowed);
    watched_front open(ours.identity("hub"), allow_list::everyone());
    raw_tls peer(raw_connection(open->port()), {.shows = good}, tls_role::connects);
    REQUIRE(peer.handshake());
    CHECK(open.next_peer().name == name("node-1"));
}

TEST_CASE("bytes that are no handshake end the connection") {
    const test_authority ours;
    watched_front listening(ours.identity("hub"), only({"node-1"}));
    std::string noise(4096, '\0');
    for (std::size_t i = 0; i < noise.size(); ++i) {
        noise[i] = static_cast<char>(i * 167 + 13);
    }
    // Also a record that announces more than it may, a handshake that announces 16 MiB, and a web client.
    for (const std::string& bytes :
         {noise, std::string("\x16\x03\x01\xff\xff", 5) + noise,
          std::string("\x16\x03\x01\x40\x00\x01\xff\xff\xff", 9) + noise + noise + noise + noise,
          std::string("GET / HTTP/1.1\r\nHost: hub\r\n\r\n")}) {
        const auto peer = raw_connection(listening->port());
        write_all(peer.get(), bytes);
        CHECK(is_over(peer.get()));
        CHECK(listening.next_refusal().reason == refusal_reason::not_tls);
    }
    const auto leaves = raw_connection(listening->port());
    ::shutdown(leaves.get(), SHUT_WR);
    CHECK(is_over(leaves.get()));
    CHECK(listening.next_refusal().reason == refusal_reason::left);
    CHECK(listening.nobody_came_in());
}

TEST_CASE("a handshake byte by byte ends at the deadline") {
    const test_authority ours;
    front_settings settings;
    settings.handshake_deadline = milliseconds(300);
    watched_front listening(ours.identity("hub"), only({"node-1"}), settings);
    const auto peer = raw_connection(listening->port());
    const auto hello = client_hello();
    const auto begin = std::chrono::steady_clock::now();
    // One byte in 20 ms: all of it would take seconds.
    std::size_t sent = 0;
    while (sent < hello.size() && ::send(peer.get(), &hello[sent], 1, MSG_NOSIGNAL) == 1) {
        ++sent;
        std::this_thread::sleep_for(milliseconds(20));
    }
    CHECK(sent < hello.size());
    CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(250));
    CHECK(listening.next_refusal().reason == refusal_reason::too_slow);
    CHECK(listening->waiting() == 0);
}

TEST_CASE("who is revoked in the middle of its handshake does not come in") {
    const test_authority ours;
    watched_front listening(ours.identity("hub"), only({"node-1"}));
    raw_tls peer(raw_connection(listening->port()), {.shows = ours.issue("node-1", 13)}, tls_role::connects);
    peer.first_step();
    REQUIRE(eventually([&] { return listening->waiting() == 1; }));
    auto identity = ours.identity("hub");
    identity.crl_pem = ours.revoking(13);
    REQUIRE(listening->reload(identity, only({"node-1"})));
    listening.settle();
    REQUIRE(peer.handshake());
    CHECK(peer.read(1) == "N");
    CHECK(listening.next_refusal().reason == refusal_reason::revoked);
    CHECK(listening.nobody_came_in());
}

TEST_CASE("an address that connects too often is refused, and one whose peers authenticate is not") {
    const test_authority ours;
    watched_front listening(ours.identity("hub"), only({"node-1"}), with_rate(0, 2));
    honest_node honest(ours);
    for (int i = 0; i < 10; ++i) {
        REQUIRE(honest.joins(listening->port()));
        (void)listening.next_peer();
    }
    const auto first = raw_connection(listening->port());
    const auto second = raw_connection(listening->port());
    const auto third = raw_connection(listening->port());
    CHECK(is_over(third.get()));
    CHECK(listening.next_refusal().reason == refusal_reason::too_fast);
    CHECK(listening->waiting() == 2);
}
