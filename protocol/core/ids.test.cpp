#include "protocol/core/ids.hpp"

#include "tests/support/catch.hpp"

using chalk::run_id;

TEST_CASE("a run id keeps letters, digits, dots, underscores and dashes") {
    auto id = run_id::parse("hello_1.2-B");
    REQUIRE(id);
    CHECK(id->str() == "hello_1.2-B");
    CHECK(run_id::parse(std::string(run_id::max_length, 'a')));
}

TEST_CASE("a run id that could leave its folder or break a container's name is refused") {
    for (std::string_view bad : {"", ".", "..", "-rf", "_x", ".hidden", "a/b", "a b", "a\nb", "caf\xc3\xa9"}) {
        INFO(bad);
        auto id = run_id::parse(bad);
        REQUIRE_FALSE(id);
        CHECK(id.error().kind == chalk::error_class::config);
    }
    CHECK_FALSE(run_id::parse(std::string(run_id::max_length + 1, 'a')));
    CHECK_FALSE(run_id::parse(std::string_view("a\0b", 3)));
}

TEST_CASE("an indexed run id carries its run's number") {
    CHECK(run_id::parse("x")->indexed(12)->str() == "x-12");
}

TEST_CASE("an indexed run id that would be too long is refused") {
    auto longest = run_id::parse(std::string(run_id::max_length - 1, 'a'));
    REQUIRE(longest);
    CHECK_FALSE(longest->indexed(1));
}
