#include "protocol/backend/messages.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::backend;

namespace {
const stream of{"0123456789abcdef0123456789abcdef", "run-1", 2};
}

TEST_CASE("events travel as they are, in one message") {
    events_message out(of);
    out.add(R"({"seq":1})");
    out.add(R"({"seq":2})");
    const auto parsed = json::parse(std::move(out).finish());
    CHECK(parsed == json{{"type", "Events"},
                         {"stream", of.id},
                         {"run_id", "run-1"},
                         {"attempt", 2},
                         {"events", {{{"seq", 1}}, {{"seq", 2}}}}});
}

TEST_CASE("only an acknowledgement is one") {
    CHECK(parse_acknowledged(R"({"type":"Acknowledged","seq":7})").value() == 7);
    for (const auto* text : {"", "x", "[]", "7", "{}", R"({"type":"Acknowledged"})",
                             R"({"type":"Acknowledged","seq":-1})", R"({"type":"Acknowledged","seq":"7"})",
                             R"({"type":"Acknowledged","seq":1.5})", R"({"type":1,"seq":7})", "\xff\xfe"}) {
        INFO(text);
        CHECK_FALSE(parse_acknowledged(text).has_value());
    }
    CHECK(parse_acknowledged("<html>").error().message.find("<html>") != std::string::npos);
}

TEST_CASE("a request for the next message says whose it is") {
    const auto out = json::parse(next_message_request(of, {{"request", "0-1"}, {"stream", "forged"}}));
    CHECK(out["type"] == "NextMessage");
    CHECK(out["request"] == "0-1");
    CHECK(out["stream"] == of.id);
    CHECK(out["run_id"] == "run-1");
    CHECK(out["attempt"] == 2);
}

TEST_CASE("a backend that has nothing yet says so") {
    CHECK(is_waiting(R"({"type":"Waiting"})"));
    CHECK_FALSE(is_waiting(R"({"type":"Message"})"));
    CHECK_FALSE(is_waiting("Waiting"));
}
