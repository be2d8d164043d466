#include "config/nearest.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::config;

TEST_CASE("the edit distance counts insertions, removals, replacements and swaps") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("model", "model") == 0);
    CHECK(edit_distance("modl", "model") == 1);
    CHECK(edit_distance("modell", "model") == 1);
    CHECK(edit_distance("modal", "model") == 1);
    CHECK(edit_distance("mdoel", "model") == 1);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest key is found through misspelling and other spellings") {
    const std::vector<std::string> keys = {"environment", "max_turns", "model", "model_args"};
    CHECK(nearest("enviroment", keys) == "environment");
    CHECK(nearest("maxTurns", keys) == "max_turns");
    CHECK(nearest("model-args", keys) == "model_args");
    CHECK(nearest("mdel", keys) == "model");
}

TEST_CASE("a word that is near to nothing gets the list instead") {
    const std::vector<std::string> keys = {"environment", "model"};
    CHECK(nearest("zzz", keys) == std::nullopt);
    CHECK(nearest("", keys) == std::nullopt);
    CHECK(nearest(std::string(1'000'000, 'm'), keys) == std::nullopt);
    CHECK(suggestion("zzz", keys) == "; known: environment, model");
    CHECK(suggestion("modle", keys) == "; did you mean \"model\"?");
}
