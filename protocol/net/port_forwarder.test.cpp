#include "protocol/net/port_forwarder.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

using namespace chalk;
namespace asio = boost::asio;
using asio::ip::tcp;
using unix_stream = asio::local::stream_protocol;

namespace {

std::string read_all(auto& socket) {
    std::string text;
    boost::system::error_code ended;
    asio::read(socket, asio::dynamic_buffer(text), ended);
    CHECK(ended == asio::error::eof);
    return text;
}

} // namespace

TEST_CASE("a forwarder passes both directions and their ends on, whatever the size") {
    const test::temporary_folder folder;
    const auto path = (folder.path() / "s").string();
    asio::io_context blocking;
    unix_stream::acceptor target(blocking, unix_stream::endpoint(path));
    io_thread io;
    auto forwarder = port_forwarder::listen(io.context(), path);
    REQUIRE(forwarder);

    tcp::socket client(blocking);
    client.connect({asio::ip::address_v4::loopback(), (*forwarder)->port()});
    unix_stream::socket server(blocking);
    target.accept(server);

    asio::write(client, asio::buffer(std::string("question")));
    client.shutdown(tcp::socket::shutdown_send);
    CHECK(read_all(server) == "question");
    const std::string answer(300'000, 'a');
    asio::write(server, asio::buffer(answer));
    server.shutdown(unix_stream::socket::shutdown_send);
    CHECK(read_all(client) == answer);
}

TEST_CASE("without a socket behind it a forwarder's connection ends, and a later one works") {
    const test::temporary_folder folder;
    const auto path = (folder.path() / "s").string();
    io_thread io;
    auto forwarder = port_forwarder::listen(io.context(), path);
    REQUIRE(forwarder);
    asio::io_context blocking;
    const tcp::endpoint where(asio::ip::address_v4::loopback(), (*forwarder)->port());

    tcp::socket first(blocking);
    first.connect(where);
    CHECK(read_all(first).empty());

    unix_stream::acceptor target(blocking, unix_stream::endpoint(path));
    tcp::socket second(blocking);
    second.connect(where);
    unix_stream::socket server(blocking);
    target.accept(server);
    forwarder->reset();
    CHECK(read_all(server).empty());
}

TEST_CASE("a forwarder says what is wrong with its socket's path") {
    io_thread io;
    CHECK_FALSE(port_forwarder::listen(io.context(), ""));
    const auto too_long = port_forwarder::listen(io.context(), "/" + std::string(200, 'x'));
    REQUIRE_FALSE(too_long);
    CHECK(too_long.error().message.find("too long") != std::string::npos);
}
