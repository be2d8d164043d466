#include "actors/cluster/node_id.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

TEST_CASE("a node's name is one that a certificate and a path can hold") {
    CHECK(node_id::parse("rack-7.node_12").value().str() == "rack-7.node_12");
    CHECK(node_id::parse(std::string(64, 'n')));
    for (const std::string bad : {"", ".", "..", "-n", "a/b", "a b", "caf\xc3\xa9", "a\n"}) {
        const auto answer = node_id::parse(bad);
        REQUIRE_FALSE(answer);
        CHECK(answer.error().kind == error_class::config);
    }
    CHECK_FALSE(node_id::parse(std::string(65, 'n')));
    CHECK_FALSE(node_id::parse(std::string("a\0b", 3)));
}
