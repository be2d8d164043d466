#include "protocol/websocket/feed.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

using namespace chalk;
using namespace chalk::websocket;

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;
using client_stream = beast::websocket::stream<tcp::socket>;

event_ptr numbered(std::uint64_t seq, std::string text = "hello") {
    return std::make_shared<const event>(event{seq, {}, log_line{log_level::info, "chalk", std::move(text)}});
}
event_ptr last_event(std::uint64_t seq) {
    return std::make_shared<const event>(event{seq, {}, task_completed{outcome_status::passed}});
}

/// A blocking client.
struct client {
    asio::io_context io;
    client_stream stream{io};

    beast::error_code connect(std::uint16_t port, const std::string& target, const std::string& token) {
        beast::error_code ec;
        stream.next_layer().connect({asio::ip::make_address("127.0.0.1"), port}, ec);
        stream.set_option(beast::websocket::stream_base::decorator([&](beast::websocket::request_type& r) {
            if (!token.empty()) {
                r.set(beast::http::field::authorization, "Bearer " + token);
            }
        }));
        stream.handshake("127.0.0.1", target, ec);
        return ec;
    }
    event read() {
        beast::flat_buffer buffer;
        stream.read(buffer);
        return parse_event(beast::buffers_to_string(buffer.data())).value();
    }
    beast::error_code read_end() {
        beast::flat_buffer buffer;
        beast::error_code ec;
        stream.read(buffer, ec);
        return ec;
    }
};

struct fixture {
    io_thread thread;
    std::shared_ptr<feed> served = feed::listen(thread.context(), {"127.0.0.1", 0, "secret"}).value();
    ~fixture() { served->close(); }
};

} // namespace

TEST_CASE("a client gets what was published before it came and after, in order, and is closed after the final event") {
    fixture f;
    f.served->publish(numbered(1));
    client c;
    REQUIRE_FALSE(c.connect(f.served->port(), "/events", "secret"));
    CHECK(c.read().seq == 1);
    f.served->publish(numbered(2));
    CHECK(c.read().seq == 2);
    f.served->publish(last_event(3));
    CHECK(c.read().seq == 3);
    CHECK(c.read_end() == beast::websocket::error::closed);
}

TEST_CASE("a client that comes back continues from the number it asks for") {
    fixture f;
    for (std::uint64_t i = 1; i <= 10; ++i) {
        f.served->publish(numbered(i));
    }
    client c;
    REQUIRE_FALSE(c.connect(f.served->port(), "/events?from=8", "secret"));
    CHECK(c.read().seq == 8);
    client ahead;
    REQUIRE_FALSE(ahead.connect(f.served->port(), "/events?from=12", "secret"));
    f.served->publish(numbered(11));
    f.served->publish(numbered(12));
    CHECK(ahead.read().seq == 12);
}

TEST_CASE("a client without the right token is refused") {
    fixture f;
    client none;
    CHECK(none.connect(f.served->port(), "/events", "") == beast::websocket::error::upgrade_declined);
    client wrong;
    CHECK(wrong.connect(f.served->port(), "/events", "guess") == beast::websocket::error::upgrade_declined);
}

TEST_CASE("a client that reads nothing holds up neither the run nor another client") {
    fixture f;
    client idle;
    REQUIRE_FALSE(idle.connect(f.served->port(), "/events", "secret"));
    client busy;
    REQUIRE_FALSE(busy.connect(f.served->port(), "/events", "secret"));
    const std::string big(64 * 1024, 'x');
    for (std::uint64_t i = 1; i <= 500; ++i) {
        f.served->publish(numbered(i, big));
    }
    for (std::uint64_t i = 1; i <= 500; ++i) {
        REQUIRE(busy.read().seq == i);
    }
}

TEST_CASE("more clients than the feed allows are turned away, and a client that leaves makes room") {
    fixture f;
    f.served->publish(numbered(1));
    std::vector<std::unique_ptr<client>> clients;
    for (std::size_t i = 0; i < most_clients; ++i) {
        clients.push_back(std::make_unique<client>());
        REQUIRE_FALSE(clients.back()->connect(f.served->port(), "/events", "secret"));
        CHECK(clients.back()->read().seq == 1);
    }
    client late;
    CHECK(late.connect(f.served->port(), "/events", "secret"));
    clients.back()->stream.close(beast::websocket::close_code::normal);
    // The server may need a moment to see that it is gone: each refusal is an answer, so this does not spin blindly.
    bool let_in = false;
    for (int i = 0; i < 1000 && !let_in; ++i) {
        client again;
        let_in = !again.connect(f.served->port(), "/events", "secret");
    }
    CHECK(let_in);
}

TEST_CASE("closing the feed sends clients what there is and closes them") {
    fixture f;
    client c;
    REQUIRE_FALSE(c.connect(f.served->port(), "/events", "secret"));
    f.served->publish(numbered(1));
    f.served->close();
    CHECK(c.read().seq == 1);
    CHECK(c.read_end() == beast::websocket::error::closed);
}

TEST_CASE("a port that is taken is refused with its name") {
    fixture f;
    const auto second = feed::listen(f.thread.context(), {"127.0.0.1", f.served->port(), "secret"});
    REQUIRE(!second);
    CHECK(second.error().kind == error_class::config);
    CHECK(second.error().message.find(std::to_string(f.served->port())) != std::string::npos);
}

TEST_CASE("tokens are long and never the same") {
    CHECK(make_token().value().size() == 64);
    CHECK(make_token().value() != make_token().value());
}
