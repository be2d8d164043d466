#include "protocol/gateway/exchange_store.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

using namespace chalk;
using namespace chalk::gateway;

TEST_CASE("what was recorded is replayed byte for byte, each repeat and each run its own") {
    const test::temporary_folder folder;
    const auto store = exchange_store::open(folder.path() / "made", true);
    REQUIRE(store);
    const std::string odd("a\0\xff\xc3\xa9\r\n", 7);
    REQUIRE(store->save({"d", "0-0", 0}, {"openai/m", {200, {{"content-type", "text/event-stream"}}}, odd, true}));
    REQUIRE(store->save({"d", "0-0", 1}, {"openai/m", {529, {}}, "é second", false}));
    REQUIRE(store->save({"d", "0-1", 0}, {"openai/m", {200, {}}, "other run", true}));
    const auto again = exchange_store::open(folder.path() / "made", false);
    REQUIRE(again);
    const auto first = again->load({"d", "0-0", 0});
    REQUIRE(first);
    CHECK(first->body == odd);
    CHECK(first->whole);
    CHECK(first->model == "openai/m");
    CHECK(curl::find_header(first->head.headers, "content-type") == "text/event-stream");
    const auto second = again->load({"d", "0-0", 1});
    REQUIRE(second);
    CHECK(second->body == "é second");
    CHECK(second->head.status == 529);
    CHECK_FALSE(second->whole);
    CHECK(again->load({"d", "0-1", 0})->body == "other run");
}

TEST_CASE("a request without a recording fails, and so does a file that is none") {
    const test::temporary_folder folder;
    const auto store = exchange_store::open(folder.path(), false);
    REQUIRE(store);
    const auto missing = store->load({"d", "0-0", 2});
    REQUIRE_FALSE(missing);
    CHECK(missing.error().kind == error_class::model);
    for (const char* text : {"", "{}", "[1]", R"({"model":1,"status":"x"})"}) {
        std::ofstream(store->file_of({"d", "0-0", 0})) << text;
        CHECK_FALSE(store->load({"d", "0-0", 0}));
    }
    CHECK_FALSE(exchange_store::open(folder.path() / "nowhere", false));
    std::ofstream(folder.path() / "file") << "x";
    CHECK_FALSE(exchange_store::open(folder.path() / "file", true));
}
