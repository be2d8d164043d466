#include "protocol/cluster/front.hpp"

#include "protocol/cluster/front.test.hpp"
#include "protocol/cluster/tls_stream.hpp"
#include "tests/support/catch.hpp"

#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

using namespace chalk;
using namespace chalk::cluster;
using namespace chalk::cluster::test;

namespace {

/// A front and a dialer that know each other.
struct honest_pair {
    explicit honest_pair(const front_settings& settings = {})
        : listening(ours.identity("hub"), only({"node-1", "node-2"}), settings),
          dialing(*dialer::make(listening.io().context(), ours.identity("node-1", 11), only({"hub"}))) {}
    dialed dial_hub(channel wanted = channel::control) {
        return dial(*dialing, {.host = "127.0.0.1", .port = listening->port(), .wanted = wanted});
    }

    test_authority ours;
    watched_front listening;
    std::shared_ptr<dialer> dialing;
};

std::string noise(std::size_t size, char first) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        text[i] = static_cast<char>(static_cast<std::size_t>(first) + i * 31 + (i >> 12U));
    }
    return text;
}

/// Writes until nothing is taken for half a second.
std::size_t write_until_stuck(int fd) {
    const std::string piece(64 * 1024, 'x');
    std::size_t sum = 0;
    pollfd writable{fd, POLLOUT, 0};
    while (sum < 64 * 1024 * 1024 && ::poll(&writable, 1, 500) == 1) {
        const auto sent = ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) {
            break;
        }
        sum += static_cast<std::size_t>(sent);
    }
    return sum;
}

int option_of(int fd, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    REQUIRE(::getsockopt(fd, level, name, &value, &size) == 0);
    return value;
}

} // namespace

TEST_CASE("an honest pair moves 8 MiB both ways at once, and ends one direction after the other") {
    honest_pair pair;
    auto near = pair.dial_hub(channel::bulk);
    REQUIRE(near);
    auto far = pair.listening.next_peer();
    CHECK(near->name == name("hub"));
    CHECK(near->wanted == channel::bulk);
    CHECK(far.name == name("node-1"));
    CHECK(far.wanted == channel::bulk);
    CHECK(far.address.starts_with("127.0.0.1:"));

    const auto there = noise(8 * 1024 * 1024, 'a');
    const auto back = noise(8 * 1024 * 1024, 'k');
    std::thread writes_there([&] {
        write_all(near->socket.get(), there);
        ::shutdown(near->socket.get(), SHUT_WR);
    });
    std::thread writes_back([&] { write_all(far.socket.get(), back); });
    std::string arrived;
    std::thread reads_back([&] {
        while (arrived.size() < back.size()) {
            arrived += read_up_to(near->socket.get(), back.size() - arrived.size());
        }
    });
    const auto got = read_to_end(far.socket.get());
    writes_there.join();
    writes_back.join();
    reads_back.join();
    CHECK(got == there); // not with its text: it is long
    CHECK(arrived == back);

    // One direction has ended, the other is as before.
    write_all(far.socket.get(), "and more");
    CHECK(read_up_to(near->socket.get(), 100) == "and more");
    far.socket.reset();
    CHECK(read_to_end(near->socket.get()).empty());
    CHECK(eventually([&] { return pair.listening->peers() == 0; }));
}

TEST_CASE("a side that closes is seen at the other at once, whichever it is") {
    honest_pair pair;
    for (const bool dialer_closes : {true, false}) {
        auto near = pair.dial_hub();
        REQUIRE(near);
        auto far = pair.listening.next_peer();
        auto& closes = dialer_closes ? near->socket : far.socket;
        auto& sees = dialer_closes ? far.socket : near->socket;
        write_all(closes.get(), "last words");
        closes.reset();
        CHECK(read_to_end(sees.get()) == "last words");
        // Nobody takes what it writes: that is seen as well, though it has not read or written since.
        pollfd hung_up{sees.get(), 0, 0};
        CHECK(::poll(&hung_up, 1, static_cast<int>(patience.count())) == 1);
        CHECK((hung_up.revents & (POLLHUP | POLLERR)) != 0);
        CHECK(eventually([&] { return pair.listening->peers() == 0; }));
    }
}

TEST_CASE("a cut is seen also by a side that does not read") {
    honest_pair pair;
    auto near = pair.dial_hub();
    REQUIRE(near);
    auto far = pair.listening.next_peer();
    CHECK(write_until_stuck(near->socket.get()) > 0);
    pair.listening.close();
    pollfd hung_up{near->socket.get(), 0, 0};
    CHECK(::poll(&hung_up, 1, static_cast<int>(patience.count())) == 1);
}

TEST_CASE("a peer that reads nothing is given a bounded number of bytes, and all of them later") {
    honest_pair pair;
    raw_tls peer(raw_connection(pair.listening->port(), "127.0.0.1", 32 * 1024), {.shows = pair.ours.issue("node-2")},
                 tls_role::connects);
    REQUIRE(peer.handshake());
    REQUIRE(peer.read(1) == "A");
    auto far = pair.listening.next_peer();
    const auto accepted = write_until_stuck(far.socket.get());
    CAPTURE(accepted);
    // The local socket, the pump's chunk, and what TCP has on its way: it starts with 128 KiB unsent at most.
    CHECK(accepted < 1024 * 1024);
    std::size_t read = 0;
    while (read < accepted) {
        const auto more = peer.read(65536).size();
        REQUIRE(more > 0);
        read += more;
    }
    CHECK(read == accepted);
    write_all(far.socket.get(), "again");
    CHECK(peer.read(100) == "again");
}

TEST_CASE("a user that reads nothing holds its peer back") {
    honest_pair pair;
    auto near = pair.dial_hub();
    REQUIRE(near);
    auto far = pair.listening.next_peer();
    const auto accepted = write_until_stuck(near->socket.get());
    CAPTURE(accepted);
    // TCP's own buffers are most of it.
    CHECK(accepted < 16 * 1024 * 1024);
    ::shutdown(near->socket.get(), SHUT_WR);
    CHECK(read_to_end(far.socket.get()).size() == accepted);
}

TEST_CASE("a reload cuts off the revoked and who is no longer allowed, and nobody else") {
    honest_pair pair;
    auto first = pair.dial_hub();
    REQUIRE(first);
    auto first_far = pair.listening.next_peer();
    auto other = *dialer::make(pair.listening.io().context(), pair.ours.identity("node-2", 22), only({"hub"}));
    const dial_target hub{.host = "127.0.0.1", .port = pair.listening->port()};
    auto second = dial(*other, hub);
    REQUIRE(second);
    auto second_far = pair.listening.next_peer();
    auto identity = pair.ours.identity("hub");

    identity.crl_pem = pair.ours.revoking(11);
    REQUIRE(pair.listening->reload(identity, only({"node-1", "node-2"})));
    CHECK(is_over(first->socket.get()));
    CHECK(is_over(first_far.socket.get()));
    const auto cut = pair.listening.next_refusal();
    CHECK(cut.reason == refusal_reason::revoked);
    CHECK(cut.name == name("node-1"));
    CHECK(cut.was_open);
    write_all(second->socket.get(), "still here");
    CHECK(read_up_to(second_far.socket.get(), 100) == "still here");
    const auto again = pair.dial_hub();
    REQUIRE_FALSE(again);
    CHECK(again.error().code == dial_error::not_admitted);
    CHECK(again.error().message.find("revoked") != std::string::npos);
    CHECK(pair.listening.next_refusal().reason == refusal_reason::revoked);

    REQUIRE(pair.listening->reload(identity, only({"node-1"})));
    CHECK(is_over(second->socket.get()));
    CHECK(pair.listening.next_refusal().reason == refusal_reason::not_allowed);
    CHECK(pair.listening->refused(refusal_reason::not_allowed) == 1);
}

TEST_CASE("a dialer's reload cuts off a front that was revoked") {
    honest_pair pair;
    auto near = pair.dial_hub();
    REQUIRE(near);
    auto far = pair.listening.next_peer();
    auto identity = pair.ours.identity("node-1", 11);
    identity.crl_pem = pair.ours.revoking(1);
    REQUIRE(pair.dialing->reload(identity, only({"hub"})));
    CHECK(is_over(near->socket.get()));
    CHECK(is_over(far.socket.get()));
    const auto again = pair.dial_hub();
    REQUIRE_FALSE(again);
    CHECK(again.error().code == dial_error::bad_certificate);
    CHECK(again.error().reason == refusal_reason::revoked);
}

TEST_CASE("a reload that cannot be used says why, and what was before still holds") {
    honest_pair pair;
    auto near = pair.dial_hub();
    REQUIRE(near);
    auto far = pair.listening.next_peer();
    const auto good = pair.ours.identity("hub");
    const auto why = [&](const std::function<void(tls_identity&)>& spoil) {
        auto spoilt = good;
        spoil(spoilt);
        const auto done = pair.listening->reload(spoilt, only({}));
        return done ? std::string("it was taken") : done.error().message;
    };
    const auto says = [](std::string_view word) { return Catch::Matchers::Contains(std::string(word)); };
    const auto is = [](const char* text) { return Catch::Matchers::Equals(text); };
    CHECK_THAT(why([](auto& i) { i.ca_pem = "nothing"; }), is("the authority's certificate is no certificate in PEM"));
    CHECK_THAT(why([](auto& i) { i.ca_pem += "-----BEGIN CERTIFICATE-----\nAAAA"; }),
               is("the authority's certificate is followed by something broken"));
    CHECK_THAT(why([](auto& i) { i.ca_pem = i.certificate_pem; }),
               is("the authority's certificate is not one that may sign others"));
    CHECK_THAT(why([](auto& i) { i.crl_pem.clear(); }), is("the list of revoked certificates is no CRL in PEM"));
    CHECK_THAT(why([](auto& i) { i.certificate_pem.resize(200); }), is("our own certificate is no certificate in PEM"));
    CHECK_THAT(why([](auto& i) { i.certificate_pem += i.ca_pem; }),
               is("our own certificate is several certificates, and must be one"));
    CHECK_THAT(why([](auto& i) { i.key_pem = "x"; }), is("our own key is no private key in PEM, or encrypted"));
    CHECK_THAT(why([&](auto& i) { i.key_pem = pair.ours.issue("hub").key; }),
               is("our own key is not the one of its certificate"));
    CHECK_THAT(why([&](auto& i) { i.crl_pem = pair.ours.revoking(1); }),
               is("peers would refuse our own certificate: the certificate of hub was revoked"));
    CHECK_THAT(why([&](auto& i) { i.crl_pem = outdated_list_of(*pair.ours); }),
               says("peers would refuse our own certificate") && says("CRL has expired"));
    CHECK_THAT(why([&](auto& i) { i.crl_pem = list_of(*test_authority()); }),
               is("the list of revoked certificates is not signed by this cluster's authority"));
    CHECK_THAT(why([](auto& i) {
                   const auto theirs = test_authority().identity("hub");
                   i.ca_pem = theirs.ca_pem;
                   i.crl_pem = theirs.crl_pem;
               }),
               says("peers would refuse our own certificate") && says("not signed by this cluster's authority"));
    CHECK_THAT(why([&](auto& i) {
                   const auto odd = odd_node_pem(*pair.ours, "DNS:hub,DNS:hub-2");
                   i.certificate_pem = odd.certificate;
                   i.key_pem = odd.key;
               }),
               says("peers would refuse our own certificate") && says("2 names"));
    pair.listening.settle();
    write_all(near->socket.get(), "still here");
    CHECK(read_up_to(far.socket.get(), 100) == "still here");
    CHECK(pair.dial_hub());
}

TEST_CASE("a name has so many connections and no more, and a place is free again when one ends") {
    honest_pair pair({.most_peers_of_a_name = 2});
    auto first = pair.dial_hub();
    auto second = pair.dial_hub();
    REQUIRE(second);
    const auto third = pair.dial_hub();
    REQUIRE_FALSE(third);
    CHECK(third.error().code == dial_error::not_admitted);
    CHECK(third.error().message.find("as many connections") != std::string::npos);
    CHECK(pair.listening.next_refusal().reason == refusal_reason::too_many);
    pair.listening.next_peer().socket.reset();
    CHECK(eventually([&] { return pair.listening->peers() == 1; }));
    CHECK(pair.dial_hub());
}

TEST_CASE("the end of a front and of a dialer ends their connections") {
    honest_pair pair;
    auto near = pair.dial_hub();
    REQUIRE(near);
    auto far = pair.listening.next_peer();
    const auto port = pair.listening->port();
    pair.listening.close();
    CHECK(is_over(near->socket.get()));
    CHECK(is_over(far.socket.get()));
    const auto again = dial(*pair.dialing, {.host = "127.0.0.1", .port = port});
    REQUIRE_FALSE(again);
    CHECK(again.error().code == dial_error::refused);
}

TEST_CASE("an address that cannot be bound is an error that names it") {
    const test_authority ours;
    io_thread io;
    for (const char* host : {"203.0.113.1", "no address"}) {
        const auto made = front::listen(io.context(), ours.identity("hub"), only({}), {.host = host}, {});
        REQUIRE_FALSE(made);
        CHECK(made.error().message.find(host) != std::string::npos);
    }
}

TEST_CASE("a peer that vanished is asked after, within the time that was set") {
    boost::asio::io_context io;
    boost::asio::ip::tcp::socket socket(io);
    socket.open(boost::asio::ip::tcp::v4());
    tune_peer_socket(socket, seconds(30));
    const auto fd = socket.native_handle();
    CHECK(option_of(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 30'000);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) + 4 * option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) == 30);
    CHECK(option_of(fd, IPPROTO_TCP, TCP_NODELAY) == 1);
}
