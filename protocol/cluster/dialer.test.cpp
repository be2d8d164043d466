#include "protocol/cluster/dialer.hpp"

#include "protocol/cluster/front.test.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <future>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

using namespace chalk;
using namespace chalk::cluster;
using namespace chalk::cluster::test;

namespace {

/// A TCP port; what is done with the first connection is the test's.
struct odd_server {
    explicit odd_server(std::function<void(unique_fd)> serve)
        : acceptor(io, {boost::asio::ip::address_v4::loopback(), 0}), port(acceptor.local_endpoint().port()),
          thread([this, serve = std::move(serve)] {
              pollfd ready{acceptor.native_handle(), POLLIN, 0};
              if (::poll(&ready, 1, static_cast<int>(patience.count())) == 1) {
                  serve(unique_fd(::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC)));
              }
          }) {}
    ~odd_server() { thread.join(); }

    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor acceptor;
    std::uint16_t port;
    std::thread thread;
};

struct caller {
    caller() : dialing(*dialer::make(io.context(), ours.identity("node-1", 11), only({"hub", "hub-2"}))) {}
    dial_failure failure_at(std::uint16_t port, const std::optional<node_name>& expected_name = {},
                            milliseconds deadline = milliseconds(8000)) {
        auto outcome =
            dial(*dialing, {.host = "127.0.0.1", .port = port, .expected_name = expected_name, .deadline = deadline});
        REQUIRE_FALSE(outcome);
        CHECK(outcome.error().message.find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
        return outcome.error();
    }
    /// With a server that has these habits.
    dial_failure failure_with(const tls_habits& habits, std::string says = "A") {
        odd_server server([&](unique_fd socket) {
            raw_tls peer(std::move(socket), habits, tls_role::accepts);
            if (peer.handshake()) {
                (void)peer.write(says);
                (void)peer.read(1);
            }
        });
        return failure_at(server.port);
    }

    test_authority ours;
    io_thread io;
    std::shared_ptr<dialer> dialing;
};

bool mentions(const dial_failure& why, std::string_view word) {
    return why.message.find(word) != std::string::npos;
}

} // namespace

TEST_CASE("a dialer says what is wrong with the other side's certificate") {
    caller node;
    const test_authority theirs;
    const auto foreign = node.failure_with({.shows = theirs.issue("hub")});
    CHECK(foreign.code == dial_error::bad_certificate);
    CHECK(foreign.reason == refusal_reason::foreign_authority);
    CHECK(mentions(foreign, "the certificate of hub is not signed by this cluster's authority"));
    const auto expired = node.failure_with({.shows = node.ours.issue("hub", 1, days(-10, -1))});
    CHECK(expired.code == dial_error::bad_certificate);
    CHECK(expired.reason == refusal_reason::expired);
    CHECK(mentions(expired, "the certificate of hub has expired"));
    const auto nameless = node.failure_with({.shows = odd_node_pem(*node.ours, "")});
    CHECK(nameless.code == dial_error::bad_certificate);
    CHECK(nameless.reason == refusal_reason::no_single_name);
    CHECK(node.failure_with({.shows = odd_node_pem(*node.ours, "DNS:hub", "clientAuth")}).reason ==
          refusal_reason::wrong_use);
    CHECK(node.failure_with({.shows = (*node.ours).pem().value()}).reason == refusal_reason::not_a_node);
    const auto stranger = node.failure_with({.shows = node.ours.issue("node-9")});
    CHECK(stranger.code == dial_error::wrong_name);
    CHECK(stranger.reason == refusal_reason::not_allowed);
    CHECK(mentions(stranger, "node-9"));

    auto identity = node.ours.identity("node-1", 11);
    identity.crl_pem = node.ours.revoking(13);
    REQUIRE(node.dialing->reload(identity, only({"hub"})));
    const auto revoked = node.failure_with({.shows = node.ours.issue("hub", 13)});
    CHECK(revoked.code == dial_error::bad_certificate);
    CHECK(revoked.reason == refusal_reason::revoked);
    CHECK(mentions(revoked, "revoked"));
}

TEST_CASE("a dialer refuses another than it expects, and takes the one that it does") {
    caller node;
    watched_front hub(node.ours.identity("hub"), only({"node-1"}));
    const auto wrong = node.failure_at(hub->port(), name("hub-2"));
    CHECK(wrong.code == dial_error::wrong_name);
    CHECK_FALSE(wrong.reason); // nothing is wrong with it, but that it is another
    CHECK(mentions(wrong, "it is hub, not hub-2"));
    const auto right = dial(*node.dialing, {.host = "localhost", .port = hub->port(), .expected_name = name("hub")});
    REQUIRE(right);
    CHECK(right->name == name("hub"));
}

TEST_CASE("a dialer says what the front has against it") {
    caller node;
    watched_front closed(node.ours.identity("hub"), only({"node-2"}));
    const auto not_allowed = node.failure_at(closed->port());
    CHECK(not_allowed.code == dial_error::not_admitted);
    CHECK(mentions(not_allowed, "allow list"));

    auto identity = node.ours.identity("hub");
    identity.crl_pem = node.ours.revoking(11);
    watched_front wary(identity, only({"node-1"}));
    const auto revoked = node.failure_at(wary->port());
    CHECK(revoked.code == dial_error::not_admitted);
    CHECK(mentions(revoked, "revoked"));
}

TEST_CASE("a dialer names what answers but is no peer") {
    caller node;
    const auto good = node.ours.issue("hub");
    const auto old =
        node.failure_with({.shows = good, .lowest_version = TLS1_2_VERSION, .highest_version = TLS1_2_VERSION});
    CHECK(old.code == dial_error::not_a_peer);
    CHECK(mentions(old, "TLS 1.3"));
    const auto no_channel = node.failure_with({.shows = good, .alpn = ""});
    CHECK(no_channel.code == dial_error::not_a_peer);
    CHECK(mentions(no_channel, "chalk-control/1"));
    CHECK(node.failure_with({.shows = good}, "?").code == dial_error::not_a_peer);
    odd_server web([](unique_fd socket) {
        write_all(socket.get(), "HTTP/1.1 400 Bad Request\r\n\r\n");
        (void)is_over(socket.get());
    });
    CHECK(node.failure_at(web.port).code == dial_error::not_a_peer);
    odd_server rude([](unique_fd) {});
    CHECK(node.failure_at(rude.port).code == dial_error::closed);
}

TEST_CASE("a dialer ends at its deadline, whatever the other side leaves out") {
    caller node;
    odd_server silent([](unique_fd socket) { (void)is_over(socket.get()); });
    CHECK(node.failure_at(silent.port, {}, milliseconds(200)).code == dial_error::too_slow);
    const auto good = node.ours.issue("hub");
    odd_server no_welcome([&](unique_fd socket) {
        raw_tls peer(std::move(socket), {.shows = good}, tls_role::accepts);
        CHECK(peer.handshake());
        (void)peer.read(1);
    });
    CHECK(node.failure_at(no_welcome.port, {}, milliseconds(1000)).code == dial_error::too_slow);
}

TEST_CASE("a dialer tells a closed port from a name that is none") {
    caller node;
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor taken(io, {boost::asio::ip::address_v4::loopback(), 0});
    const auto port = taken.local_endpoint().port();
    taken.close();
    CHECK(node.failure_at(port).code == dial_error::refused);
    const auto nowhere = dial(*node.dialing, {.host = "no-such-host.invalid", .port = 1});
    REQUIRE_FALSE(nowhere);
    CHECK((nowhere.error().code == dial_error::unresolved || nowhere.error().code == dial_error::too_slow));
}

TEST_CASE("a dialer that ends tells those who wait") {
    auto node = std::make_unique<caller>();
    odd_server silent([](unique_fd socket) { (void)is_over(socket.get()); });
    std::promise<dialed> outcome;
    auto ready = outcome.get_future();
    node->dialing->dial({.host = "127.0.0.1", .port = silent.port},
                        [&](dialed done) { outcome.set_value(std::move(done)); });
    node->dialing.reset();
    REQUIRE(ready.wait_for(patience) == std::future_status::ready);
    const auto got = ready.get();
    REQUIRE_FALSE(got);
    CHECK(got.error().code == dial_error::stopped);
}
