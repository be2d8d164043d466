#include "config/json_document.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::config;

namespace {

std::string error_of(std::string_view text) {
    auto document = read_json_document(text, "f.json");
    return document ? "" : document.error().message;
}

} // namespace

TEST_CASE("every value's line is known") {
    auto document = read_json_document("{\n \"a\": 1,\n \"b\": {\"c\":\n [\n  [],\n  7\n ]}\n}", "f.json");
    REQUIRE(document);
    CHECK(document->value == json::parse(R"({"a": 1, "b": {"c": [[], 7]}})"));
    CHECK(document->place_of("a") == "f.json:2");
    CHECK(document->place_of("b.c") == "f.json:3");
    CHECK(document->place_of("b.c[0]") == "f.json:5");
    CHECK(document->place_of("b.c[1]") == "f.json:3"); // of the list around it
    CHECK(document->place_of("nowhere") == "f.json");
}

TEST_CASE("a duplicate key is refused with both lines") {
    CHECK(error_of("{\"a\": {\n\"k\": 1,\n\n\"k\": 2}}") == "f.json:4: a.k: the key is there twice (first on line 2)");
    CHECK(error_of("[{\"k\": 1}, {\"k\": 2}]").empty());
}

TEST_CASE("truncated JSON is refused with the place where it ends") {
    const auto message = error_of("{\"a\": 1,\n \"b\": {\"c\": [1, 2");
    CHECK(message.starts_with("f.json:2: b.c[2]: "));
    CHECK(message.find("unexpected end of input") != std::string::npos);
}

TEST_CASE("what is no JSON is refused with its line") {
    CHECK(error_of("").starts_with("f.json:1: "));
    CHECK(error_of("{\n\"a\": yes}").starts_with("f.json:2: a: "));
    CHECK(error_of("{} {}").starts_with("f.json:1: "));
    CHECK(error_of("{\"a\": \"\xff\"}").find("UTF-8") != std::string::npos);
    CHECK(error_of("{\"a\": 1e999}").starts_with("f.json:1: a: "));
}

TEST_CASE("absurd nesting is refused, not followed") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(error_of(nested(max_json_depth)).empty());
    CHECK(error_of(nested(max_json_depth + 1)).find("nested more than 64 levels") != std::string::npos);
    CHECK(error_of(std::string(1'000'000, '[')).find("nested more than 64 levels") != std::string::npos);
}

TEST_CASE("a path quotes the keys that it could not show plainly") {
    CHECK(join_path("a", "b") == "a.b");
    CHECK(join_path("", "b") == "b");
    CHECK(join_path("a", "b.c") == "a.\"b.c\"");
    CHECK(join_path("a", "") == "a.\"\"");
    CHECK(join_path("a", std::size_t{3}) == "a[3]");
}
