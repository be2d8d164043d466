#include "protocol/core/outcome.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;

TEST_CASE("every error class is read back from its name") {
    for (int i = 0; i <= static_cast<int>(error_class::budget); ++i) {
        const auto kind = static_cast<error_class>(i);
        CHECK(parse_error_class(to_string(kind)) == kind);
    }
    CHECK(to_string(error_class::node_lost) == "node_lost");
    CHECK(parse_error_class("Config") == std::nullopt);
}

TEST_CASE("every outcome status is read back from its name") {
    for (int i = 0; i <= static_cast<int>(outcome_status::cancelled); ++i) {
        const auto status = static_cast<outcome_status>(i);
        CHECK(parse_outcome_status(to_string(status)) == status);
    }
    CHECK(parse_outcome_status("") == std::nullopt);
}
