#include "runtimes/confinement/secrets.hpp"

#include "protocol/core/own_keys.hpp"
#include "tests/support/catch.hpp"

using chalk::confinement::without_secrets;
using list = std::vector<std::string>;

TEST_CASE("the student's environment lacks chalk's keys and what plugins list, and nothing else", "[secrets]") {
    CHECK(without_secrets({"PATH=/bin", "OPENAI_API_KEY=sk-1", "MY_API_KEY=kept", "TOKEN=gone", "A=OPENAI_API_KEY=1"},
                          {"TOKEN"}) == list{"PATH=/bin", "MY_API_KEY=kept", "A=OPENAI_API_KEY=1"});
    for (const auto name : chalk::own_key_names()) {
        CHECK(without_secrets({std::string(name) + "=x", std::string(name) + "_2=kept"}, {}) ==
              list{std::string(name) + "_2=kept"});
    }
    CHECK(without_secrets({"TOKENS=kept", "no equals sign"}, {"TOKEN"}) == list{"TOKENS=kept", "no equals sign"});
}
