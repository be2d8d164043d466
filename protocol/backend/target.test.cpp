#include "protocol/backend/target.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::backend;

TEST_CASE("a backend's address is taken apart") {
    const auto plain = parse_uri("http://backend.example").value();
    CHECK_FALSE(plain.secure);
    CHECK_FALSE(plain.websocket);
    CHECK(plain.port == 80);
    CHECK(plain.target == "/");
    CHECK(plain.authority() == "backend.example");
    const auto full = parse_uri("wss://[::1]:8443/runs?team=a").value();
    CHECK(full.secure);
    CHECK(full.websocket);
    CHECK(full.host == "::1");
    CHECK(full.port == 8443);
    CHECK(full.target == "/runs?team=a");
    CHECK(full.authority() == "[::1]:8443");
    CHECK(full.display() == "wss://[::1]:8443/runs");
    CHECK(parse_uri("https://h?x=1").value().target == "/?x=1");
}

TEST_CASE("what is no backend's address is refused with the cause") {
    for (const auto* text : {"", "b", "ftp://h", "http://", "http:///x", "http://h:0", "http://h:65536", "http://h:x",
                             "http://[::1", "http://[::1]x", "http://h/a b", "http://h/#x", "http://h\n"}) {
        INFO(text);
        const auto parsed = parse_uri(text);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().kind == error_class::config);
        CHECK(parsed.error().message.find("wss://") != std::string::npos);
    }
    CHECK(parse_uri("https://me:secret@h/").error().message.find(token_variable) != std::string::npos);
    CHECK(parse_uri("https://me:secret@h/").error().message.find("secret") == std::string::npos);
}

TEST_CASE("the streams of two chalks never have the same id") {
    const auto one = make_stream_salt().value();
    CHECK(one.size() == 32);
    CHECK(one != make_stream_salt().value());
}
