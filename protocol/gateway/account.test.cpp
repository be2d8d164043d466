#include "protocol/gateway/account.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::gateway;
using chalk::test::catch_approx;

namespace {

call asks(std::string model, std::string full = {}) {
    call what;
    what.model = std::move(model);
    what.full_model = std::move(full);
    return what;
}

constexpr model_price dollar_a_million{1, 1, 1, 1, 1};

} // namespace

TEST_CASE("a run may ask the models of its own config and no others") {
    account mine({.models = {"openai/a", "anthropic/b"}, .base_url = {}, .budget = {}, .seed = {}});
    CHECK(*mine.admit(asks("a", "openai/a")) == "openai/a");
    CHECK(*mine.admit(asks("b")) == "anthropic/b"); // a CLI agent names no provider
    for (const auto& call : {asks("c"), asks("a", "anthropic/a"), asks("c", "openai/a"), asks("openai/a"), asks("")}) {
        CAPTURE(call.model, call.full_model);
        const auto refused = mine.admit(call);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status == 403);
        CHECK(refused.error().code == "model_not_allowed");
    }
    CHECK(mine.so_far().refused == 5);
}

TEST_CASE("a model whose own name has a slash is asked by what follows the provider") {
    account mine({.models = {"openai_compatible/org/m"}, .base_url = {}, .budget = {}, .seed = {}});
    CHECK(mine.admit(asks("org/m")));
    CHECK_FALSE(mine.admit(asks("m")));
}

TEST_CASE("a run that has used its tokens asks no more") {
    account mine({.models = {"openai/a"}, .base_url = {}, .budget = {.tokens = 100, .usd = {}}, .seed = {}});
    mine.spend({{60, 60, 39, 39}, 0}, false, nullptr); // cached and reasoning tokens are parts, not more
    CHECK(mine.admit(asks("a")));
    mine.spend({{1, 0, 0, 0}, 0}, false, nullptr);
    const auto refused = mine.admit(asks("a"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == 402);
    CHECK(refused.error().code == "token_budget_exhausted");
}

TEST_CASE("a run that has spent its dollars asks no more") {
    account mine({.models = {"openai/a"}, .base_url = {}, .budget = {.tokens = {}, .usd = 1.5}, .seed = {}});
    mine.spend({{1'000'000, 0, 0, 0}, 0}, false, &dollar_a_million);
    CHECK(mine.admit(asks("a")));
    mine.spend({{0, 0, 500'000, 0}, 0}, true, &dollar_a_million);
    CHECK(mine.admit(asks("a")).error().status == 402);
    CHECK(mine.admit(asks("a")).error().code == "usd_budget_exhausted");
    CHECK(*mine.so_far().usd == catch_approx(1.5));
    CHECK(mine.so_far().estimated == 1);
}

TEST_CASE("dollars are not known when one price is not, and a budget of dollars then ends") {
    account mine({.models = {"openai/a"}, .base_url = {}, .budget = {.tokens = {}, .usd = 5}, .seed = {}});
    mine.spend({{1, 0, 1, 0}, 0}, false, nullptr);
    mine.spend({{1, 0, 1, 0}, 0}, false, &dollar_a_million);
    CHECK_FALSE(mine.so_far().usd);
    CHECK(to_json(mine.so_far())["usd"].is_null());
    CHECK(mine.admit(asks("a")).error().code == "usd_budget_exhausted");
}

TEST_CASE("what the harness is told of a run's spending survives the wire") {
    account mine({.models = {"openai/a"}, .base_url = {}, .budget = {}, .seed = {}});
    mine.spend({{1'000'000, 0, 0, 0}, 0}, false, &dollar_a_million);
    mine.spend({{70, 0, 7, 0}, 0}, false, &dollar_a_million);
    const account::time_point t0;
    mine.begin_wait(t0);
    mine.end_wait(t0, t0 + milliseconds{300});
    mine.begin_wait(t0 + milliseconds{960}); // still under way
    const auto told = from_wire(to_wire(mine.so_far(t0 + milliseconds{1'000})));
    REQUIRE(told);
    CHECK(told->requests == 2);
    CHECK(told->tokens.input == 1'000'070);
    CHECK(told->tokens.output == 7);
    CHECK(*told->usd == catch_approx(1.000077));
    CHECK(told->waited == milliseconds{340});
    CHECK(told->context_tokens == 77);
    mine.spend({{1, 0, 1, 0}, 0}, false, nullptr);
    CHECK_FALSE(from_wire(to_wire(mine.so_far())).value().usd);
    CHECK(from_wire(json::array()).error().kind == error_class::model);
    CHECK(from_wire({{"requests", "many"}}).error().kind == error_class::model);
}

TEST_CASE("a small call does not hide the large one before it from who looks now and then") {
    account mine({.models = {"openai/a"}, .base_url = {}, .budget = {}, .seed = {}});
    CHECK(mine.tell().context_tokens == 0);
    mine.spend({{70, 0, 7, 0}, 0}, false, nullptr);
    mine.spend({{500, 0, 50, 0}, 0}, false, nullptr);
    mine.spend({{4, 0, 1, 0}, 0}, false, nullptr);
    CHECK(mine.so_far().context_tokens == 5); // which is no look
    const auto told = mine.tell();
    CHECK(told.context_tokens == 550);
    CHECK(told.requests == 3);
    CHECK(told.tokens.input == 574);
    CHECK(mine.tell().context_tokens == 5);
    mine.spend({{3, 0, 0, 0}, 0}, false, nullptr);
    CHECK(mine.tell().context_tokens == 3);
}

TEST_CASE("equal requests of one run are told apart by their number") {
    account mine({.models = {}, .base_url = {}, .budget = {}, .seed = "0-1"});
    CHECK(mine.next_ordinal("x") == 0);
    CHECK(mine.next_ordinal("x") == 1);
    CHECK(mine.next_ordinal("y") == 0);
}
