#include "protocol/websocket/request.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::websocket;

namespace {

unsigned status(std::string_view target, std::string_view authorization) {
    const auto verdict = check_request(target, authorization, "secret");
    const auto* why = std::get_if<refusal>(&verdict);
    return why != nullptr ? why->status : 101;
}

} // namespace

TEST_CASE("a client with the token is let in, by header or by query") {
    CHECK(status("/events", "Bearer secret") == 101);
    CHECK(status("/events?token=secret", "") == 101);
    CHECK(std::get<subscription>(check_request("/events", "Bearer secret", "secret")).from == 1);
    CHECK(std::get<subscription>(check_request("/events?from=42&token=secret", "", "secret")).from == 42);
}

TEST_CASE("a client without the token learns nothing else") {
    CHECK(status("/events", "") == 401);
    CHECK(status("/events", "Bearer secreT") == 401);
    CHECK(status("/events", "Bearer secret2") == 401);
    CHECK(status("/events", "secret") == 401);
    CHECK(status("/events?token=", "") == 401);
    CHECK(status("/nowhere", "") == 401);
    CHECK(status("/events?from=x", "") == 401);
}

TEST_CASE("an empty token lets nobody in") {
    CHECK(std::holds_alternative<refusal>(check_request("/events", "Bearer ", "")));
    CHECK(std::holds_alternative<refusal>(check_request("/events?token=", "", "")));
}

TEST_CASE("a request that makes no sense is refused with its reason") {
    CHECK(status("/", "Bearer secret") == 404);
    CHECK(status("/events/", "Bearer secret") == 404);
    for (const char* from : {"0", "-1", "x", "", "1x", "99999999999999999999999"}) {
        INFO(from);
        CHECK(status("/events?from=" + std::string(from), "Bearer secret") == 400);
    }
    CHECK(status("/events?form=1", "Bearer secret") == 400);
}
