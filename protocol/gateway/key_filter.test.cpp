#include "protocol/gateway/key_filter.hpp"

#include "tests/support/catch.hpp"

using chalk::gateway::key_filter;

namespace {

const std::string key = "sk-sk-secret";

} // namespace

TEST_CASE("a key that a server repeats is taken out, however often") {
    const key_filter filter(key);
    CHECK(filter.clean("Bearer " + key + " is wrong: " + key) == "Bearer [key removed] is wrong: [key removed]");
    CHECK(filter.clean(key + key) == "[key removed][key removed]");
    CHECK(filter.clean("sk-sk-sk-secret") == "sk-[key removed]"); // it begins within what looked like it
    for (const std::string other : {"", "sk-", "sk-sk-secre", "an error of another kind"}) {
        CHECK(filter.clean(other) == other);
    }
}

TEST_CASE("a key in two pieces is taken out, and nothing else is lost, wherever they part") {
    const auto body = "{\"sk\": \"" + key + "\", \"sk-\": \"sk-s\"}sk-sk";
    for (std::size_t first = 0; first <= body.size(); ++first) {
        for (std::size_t second = first; second <= body.size(); ++second) {
            key_filter filter(key);
            auto out = filter.pass(body.substr(0, first));
            out += filter.pass(body.substr(first, second - first));
            out += filter.pass(body.substr(second));
            out += filter.rest();
            CAPTURE(first, second);
            REQUIRE(out == "{\"sk\": \"[key removed]\", \"sk-\": \"sk-s\"}sk-sk");
            CHECK(filter.rest().empty());
        }
    }
}

TEST_CASE("only what could be the key's beginning is kept back") {
    key_filter filter(key);
    CHECK(filter.pass("wrong: sk-sk-s") == "wrong: ");
    CHECK(filter.pass("erial") == "sk-sk-serial");
    CHECK(filter.pass("all of it") == "all of it");
    CHECK(filter.rest().empty());
}

TEST_CASE("a stream of events is not delayed") {
    key_filter filter(key);
    CHECK(filter.pass("data: {\"text\": \"sk-\"}\n\n") == "data: {\"text\": \"sk-\"}\n\n");
    CHECK(filter.pass("data: {\"error\": \"" + key + "\"}\r\n\r\n") == "data: {\"error\": \"[key removed]\"}\r\n\r\n");
    CHECK(filter.rest().empty());
}

TEST_CASE("no key, or one that is no secret, takes nothing out") {
    for (const std::string word : {"", "none", "EMPTY"}) {
        key_filter filter(word);
        CHECK(filter.pass("none is EMPTY") == "none is EMPTY");
        CHECK(filter.rest().empty());
    }
}
