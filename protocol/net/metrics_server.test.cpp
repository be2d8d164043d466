#include "protocol/net/metrics_server.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <vector>

using namespace chalk;
using boost::asio::ip::tcp;

namespace {

tcp::socket connected(boost::asio::io_context& io, std::uint16_t port) {
    tcp::socket socket(io);
    socket.connect({boost::asio::ip::address_v4::loopback(), port});
    return socket;
}

std::string http_exchange(std::uint16_t port, const std::string& request) {
    boost::asio::io_context io;
    auto socket = connected(io, port);
    boost::asio::write(socket, boost::asio::buffer(request));
    std::string all;
    boost::system::error_code end;
    boost::asio::read(socket, boost::asio::dynamic_buffer(all), end);
    return all;
}

} // namespace

TEST_CASE("metrics are served at /metrics and nowhere else") {
    io_thread io;
    const auto server = metrics_server::listen(io.context(), {"127.0.0.1", 0},
                                               [](auto answer) { answer("# TYPE a gauge\na 1\n# EOF\n"); });
    REQUIRE(server);
    const auto port = (*server)->port();
    const auto page = http_exchange(port, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(page.starts_with("HTTP/1.1 200"));
    CHECK(page.find("application/openmetrics-text; version=1.0.0") != std::string::npos);
    CHECK(page.ends_with("a 1\n# EOF\n"));
    CHECK(http_exchange(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 404"));
    CHECK(http_exchange(port, "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
              .starts_with("HTTP/1.1 405"));
    // What makes no request is hung up on, and so is one that never ends.
    CHECK(http_exchange(port, "\x16\x03\x01 nonsense\r\n\r\n").empty());
    CHECK(http_exchange(port, "GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n").empty());
}

TEST_CASE("silent readers of metrics take no more than their places") {
    io_thread io;
    const auto server = metrics_server::listen(io.context(), {"127.0.0.1", 0}, [](auto answer) { answer("# EOF\n"); });
    REQUIRE(server);
    boost::asio::io_context ours;
    std::vector<tcp::socket> silent;
    for (int i = 0; i < 16; ++i) {
        silent.push_back(connected(ours, (*server)->port()));
    }
    CHECK(http_exchange((*server)->port(), "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").empty());
}

TEST_CASE("metrics at an address that cannot be had are refused with it") {
    io_thread io;
    const auto server = metrics_server::listen(io.context(), {"192.0.2.1", 1}, [](auto) {});
    REQUIRE_FALSE(server);
    CHECK(server.error().message.find("192.0.2.1:1") != std::string::npos);
}
