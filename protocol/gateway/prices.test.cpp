#include "protocol/gateway/prices.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

using namespace chalk;
using namespace chalk::gateway;
using chalk::test::catch_approx;

TEST_CASE("a price counts cached, written and reasoning tokens apart") {
    const auto table = price_table::parse(
        json::parse(R"({"openai/m": {"input": 2, "cached": 0.5, "cache_write": 4, "output": 10, "reasoning": 20}})"),
        "p");
    REQUIRE(table);
    const auto* price = table->find("openai/m");
    REQUIRE(price != nullptr);
    // 600k plain, 300k cached, 100k written; 150k said, 50k thought.
    CHECK(price->usd({{1'000'000, 300'000, 200'000, 50'000}, 100'000}) == catch_approx(1.2 + 0.15 + 0.4 + 1.5 + 1.0));
}

TEST_CASE("prices that are left out are those of plain tokens") {
    const auto table = price_table::parse(json::parse(R"({"m": {"input": 1, "output": 3}})"), "p");
    REQUIRE(table);
    REQUIRE(table->find("anthropic/m") != nullptr);
    CHECK(table->find("anthropic/m")->usd({{1'000'000, 500'000, 1'000'000, 999'999}, 1}) == catch_approx(4.0));
    CHECK(table->find("other") == nullptr);
}

TEST_CASE("usage that makes no sense never costs less than nothing") {
    const model_price price{1, 1, 1, 1, 1};
    CHECK(price.usd({{1, 1000, 0, 5}, 7}) >= 0);
}

TEST_CASE("a wrong price file is refused with the place of its mistake") {
    const auto message = [](const char* text) {
        const auto table = price_table::parse(json::parse(text), "prices.json");
        return table ? std::string("fine") : table.error().message;
    };
    CHECK(message("[]").find("prices.json") == 0);
    CHECK(message(R"({"m": 3})").find("prices.json: m: expected an object") == 0);
    CHECK(message(R"({"m": {"input": 1}})").find("both needed") != std::string::npos);
    CHECK(message(R"({"m": {"input": 1, "outptu": 1}})").find("unknown key \"outptu\"") != std::string::npos);
    CHECK(message(R"({"m": {"input": -1, "output": 1}})").find("m.input") != std::string::npos);
    CHECK(message(R"({"m": {"input": "1", "output": 1}})").find("m.input") != std::string::npos);
}

TEST_CASE("prices come from JSON and from TOML") {
    const test::temporary_folder folder;
    const auto json_file = folder.path() / "p.json";
    const auto toml_file = folder.path() / "p.toml";
    std::ofstream(json_file) << R"({"openai/m": {"input": 1, "output": 2}})";
    std::ofstream(toml_file) << "[\"openai/m\"]\ninput = 1\noutput = 2.5\n";
    const auto first = price_table::load(json_file);
    const auto second = price_table::load(toml_file);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->find("openai/m")->output == 2);
    CHECK(second->find("openai/m")->output == 2.5);
    std::ofstream(toml_file) << "a = = 3\n";
    const auto broken = price_table::load(toml_file);
    REQUIRE_FALSE(broken);
    CHECK(broken.error().message.find("p.toml:1") != std::string::npos);
}
