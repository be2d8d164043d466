#include "protocol/core/own_keys.hpp"

#include "tests/support/catch.hpp"

#include <cstdlib>

using chalk::own_key_names;
using chalk::own_keys;

TEST_CASE("keys are moved out of the environment, and found by their names") {
    ::setenv("NOT_A_KEY_OF_CHALK", "kept", 1);
    for (const auto name : own_key_names()) {
        ::setenv(std::string(name).c_str(), ("secret of " + std::string(name)).c_str(), 1);
    }
    const char* lay = std::getenv("OPENAI_API_KEY");
    const auto keys = own_keys::take();
    for (const auto name : own_key_names()) {
        CHECK(keys.find(name) == "secret of " + std::string(name));
        CHECK(std::getenv(std::string(name).c_str()) == nullptr);
    }
    CHECK(*lay == '\0');
    CHECK(keys.find("NOT_A_KEY_OF_CHALK").empty());
    CHECK(std::string(std::getenv("NOT_A_KEY_OF_CHALK")) == "kept");
    CHECK(own_keys::take().find("OPENAI_API_KEY").empty());
    ::unsetenv("NOT_A_KEY_OF_CHALK");
}
