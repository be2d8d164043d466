#include "protocol/core/json_text.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;

TEST_CASE("a JSON error says where it is") {
    auto parsed = parse_json("{\n  \"a\": 1,\n  \"b\": tru\n}");
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().line == 3);
    CHECK(parsed.error().message.find("invalid literal") != std::string::npos);
}

TEST_CASE("nesting is allowed up to its limit and not beyond") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(parse_json(nested(max_json_depth)));
    CHECK_FALSE(parse_json(nested(max_json_depth + 1)));
    CHECK_FALSE(parse_json(std::string(1'000'000, '[')));
}

TEST_CASE("brackets in strings are no nesting") {
    const auto text = "[\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"]";
    CHECK_FALSE(nested_deeper_than(text, 1));
    CHECK(parse_json(text));
}

TEST_CASE("a number beyond a double's range is an error, not an infinity") {
    CHECK_FALSE(parse_json("1e999"));
}

TEST_CASE("invalid UTF-8 is refused by the parser and replaced by the writer") {
    CHECK_FALSE(parse_json("\"\xff\""));
    CHECK(dump_json(json("a\xff z")) == "\"a\xef\xbf\xbd z\"");
    CHECK(to_valid_utf8("a\xff z") == "a\xef\xbf\xbd z");
    CHECK(to_valid_utf8("caf\xc3\xa9") == "caf\xc3\xa9");
}
