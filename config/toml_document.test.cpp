#include "config/toml_document.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::config;

namespace {

std::string error_of(std::string_view text) {
    auto document = read_toml_document(text, "f.toml");
    return document ? "" : document.error().message;
}

} // namespace

TEST_CASE("TOML is read as the JSON that says the same, with its lines and its order") {
    auto document = read_toml_document("b = 1\na.z = -2\na.y = [1.5, true]\n[[t]]\nk = 'v'\n[[t]]\n", "f.toml");
    REQUIRE(document);
    CHECK(document->value == json::parse(R"({"a": {"z": -2, "y": [1.5, true]}, "b": 1, "t": [{"k": "v"}, {}]})"));
    CHECK(document->place_of("a.y") == "f.toml:3");
    CHECK(document->place_of("a.y[1]") == "f.toml:3");
    CHECK(document->place_of("t[0].k") == "f.toml:5");
    CHECK(document->names_at(document->value, "") == std::vector<std::string>{"b", "a", "t"});
    CHECK(document->names_at(document->value["a"], "a") == std::vector<std::string>{"z", "y"});
}

TEST_CASE("what JSON cannot say is refused with its line") {
    CHECK(error_of("a = 1\nb = 2026-01-31\n") == "f.toml:2: b: a date or time is no value here: write it as a string");
    CHECK(error_of("a = [1,\ninf]") == "f.toml:2: a[1]: inf and nan are no values here");
    CHECK(error_of("[a]\nb = nan").starts_with("f.toml:2: a.b: inf and nan"));
}

TEST_CASE("what is no TOML is refused with its line") {
    CHECK(error_of("a = 1\nb = \n").starts_with("f.toml:2: "));
    CHECK(error_of("a = 1\na = 2\n").starts_with("f.toml:2: "));
    CHECK(error_of("a = \"\xff\"").starts_with("f.toml:1: "));
}

TEST_CASE("absurd nesting of TOML is refused, not followed") {
    CHECK(error_of("a = " + std::string(100'000, '[')).starts_with("f.toml:1: "));
    std::string dotted = "a";
    for (int i = 0; i < 100; ++i) {
        dotted += ".a";
    }
    CHECK(error_of(dotted + " = 1").find("nested more than 64 levels") != std::string::npos);
    for (int i = 0; i < 100'000; ++i) {
        dotted += i % 2 == 0 ? ".a" : " . 'a'";
    }
    CHECK(error_of("\n" + dotted + " = 1") == "f.toml:2: nested more than 64 levels deep");
    CHECK(error_of("[" + dotted + "]\n") == "f.toml:1: nested more than 64 levels deep");
    CHECK(error_of("x = {b = \"\"\"\n\\\"\"\"\"\"\", " + dotted + " = 1}") ==
          "f.toml:2: nested more than 64 levels deep");
    CHECK(error_of("x = '''\n''''', " + dotted) == "f.toml:2: nested more than 64 levels deep");

    const std::string dots(200, '.');
    CHECK(error_of("a = '" + dots + "' # " + dots + "\nb = \"\\\"" + dots + "\"\nc = '''\n" + dots + "'''\n").empty());
    std::string numbers = "n = [";
    for (int i = 0; i < 100; ++i) {
        numbers += "1.5, ";
    }
    CHECK(error_of(numbers + "]").empty());
}
