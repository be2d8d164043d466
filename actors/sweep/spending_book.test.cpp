#include "actors/sweep/spending_book.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::actors;
using answer = spending_book::answer;

TEST_CASE("a run is promised what it may spend, and what it did not spend is free again") {
    spending_book book({100, std::nullopt});
    CHECK(book.reserve(1, {60, 0}) == answer::granted);
    CHECK(book.reserve(2, {60, 0}) == answer::wait);
    book.settle(1, {30, 0.5});
    CHECK(book.reserve(2, {60, 0}) == answer::granted);
    book.settle(2, {60, 0});
    CHECK(book.spent().tokens == 90);
    CHECK(book.spent().usd == 0.5);
    CHECK(book.promised().tokens == 0);
    CHECK(book.reserve(3, {11, 0}) == answer::never);
    CHECK(book.reserve(3, {10, 0}) == answer::granted);
}

TEST_CASE("dollars are held like tokens, and what was spent before counts") {
    spending_book book({std::nullopt, 1.0}, {0, 0.75});
    CHECK(book.reserve(1, {1'000'000, 0.5}) == answer::never);
    CHECK(book.reserve(1, {1'000'000, 0.25}) == answer::granted);
    CHECK(book.reserve(2, {0, 0.1}) == answer::wait);
}

TEST_CASE("nothing starts once the budget is spent, also when it would cost nothing") {
    spending_book book({10, std::nullopt}, {10, 0});
    CHECK(book.reserve(1, {0, 0}) == answer::never);
}

TEST_CASE("without limits everything is granted and still counted") {
    spending_book book({});
    CHECK(book.reserve(1, {1'000'000, 100}) == answer::granted);
    book.settle(1, {5, 1});
    CHECK(book.spent().tokens == 5);
}
