#include "cli/progress/least_level.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

TEST_CASE("the names of LOGURU_LEVEL stand for chalk's levels") {
    for (const auto& [word, level] : {std::pair{"TRACE", log_level::debug},
                                      {"DEBUG", log_level::debug},
                                      {"INFO", log_level::info},
                                      {"SUCCESS", log_level::info},
                                      {"WARNING", log_level::warning},
                                      {"ERROR", log_level::error},
                                      {"CRITICAL", log_level::error}}) {
        CHECK(parse_least_level(word).value() == level);
    }
    CHECK(parse_least_level("").value() == log_level::debug);
}

TEST_CASE("a word that LOGURU_LEVEL does not have is refused with those that it has") {
    for (const char* word : {"info", "WARN", "20", "INFO "}) {
        const auto level = parse_least_level(word);
        REQUIRE(level.has_error());
        CHECK(level.error().kind == error_class::config);
        CHECK(level.error().message == "LOGURU_LEVEL is \"" + std::string(word) +
                                           "\"; known: TRACE, DEBUG, INFO, SUCCESS, WARNING, ERROR, CRITICAL");
    }
}
