#include "protocol/net/host_port.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;

TEST_CASE("HOST:PORT is read with names, IPv4 and IPv6 addresses") {
    CHECK(parse_host_port("box:7070")->host == "box");
    CHECK(parse_host_port("box:7070")->port == 7070);
    CHECK(parse_host_port("[::1]:1")->host == "::1");
    CHECK(parse_host_port("0.0.0.0:65535")->port == 65535);
    CHECK(parse_host_port("0.0.0.0:0", true)->port == 0);
}

TEST_CASE("what is not HOST:PORT is refused with its text") {
    for (const char* text : {"", "box", "box:", ":1", "box:0", "box:65536", "box:-1", "box:1x", "::1:5", "a b:1",
                             "[]:1", "[a:1", "http://box:1"}) {
        CAPTURE(text);
        const auto read = parse_host_port(text);
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::config);
        CHECK(read.error().message.find(text) != std::string::npos);
    }
}
