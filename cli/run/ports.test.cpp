#include "cli/run/ports.hpp"

#include "protocol/core/unique_fd.hpp"
#include "tests/support/catch.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

using namespace chalk;

TEST_CASE("a taken port is refused by its number, wherever it stands in the range") {
    const unique_fd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(taken.get(), 1) == 0);
    REQUIRE(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    const std::uint16_t port = ntohs(address.sin_port);
    const auto refused = cli::check_ports(port, 1);
    REQUIRE(!refused);
    CHECK(refused.error().kind == error_class::config);
    CHECK(refused.error().message.find(std::to_string(port)) != std::string::npos);
}

TEST_CASE("ports past the last one are refused") {
    CHECK(!cli::check_ports(65'535, 2));
    CHECK(!cli::check_ports(0, 1));
}
