#include "cli/sweep/options.hpp"

#include "tests/support/catch.hpp"

#include <string>

using namespace chalk;
using namespace chalk::cli;

namespace {

/// Each of what a sweep stores, at no default.
run_options every_option_set() {
    run_options how;
    how.runtime = "namespaces";
    how.memory = 256_MiB;
    how.disk = 64_MiB;
    how.max_concurrent = 7;
    how.overcommit = 1.5;
    how.rootfs = "/some/rootfs";
    how.mounts = {"/a:/b:ro", "/c:/d:ro"};
    how.proxy = "http://proxy:1";
    how.no_proxy = true;
    how.prices = "/some/prices.json";
    how.record = "/some/record";
    how.replay = "/some/replay";
    how.keep = true;
    how.no_containerized = true;
    return how;
}

} // namespace

TEST_CASE("the options of a sweep come back as they were stored, also those that were not given") {
    for (const auto& how : {every_option_set(), run_options{}}) {
        const auto stored = to_json(how);
        const auto read = run_options_from_json(nlohmann::json::parse(stored.dump()));
        REQUIRE(read);
        CHECK(to_json(*read) == stored);
        CHECK(read->memory == how.memory);
        CHECK(read->max_concurrent == how.max_concurrent);
        CHECK(read->mounts == how.mounts);
        CHECK(read->replay == how.replay);
        CHECK(read->no_containerized == how.no_containerized);
    }
    CHECK(to_json(every_option_set()).size() == to_json(run_options{}).size());
}

TEST_CASE("a stored path is absolute: a resume may start in another folder") {
    run_options how;
    how.prices = "prices.json";
    CHECK(to_json(how)["prices"] == (std::filesystem::current_path() / "prices.json").string());
}

TEST_CASE("stored options that make no sense are refused by the names of all that are wrong") {
    auto stored = to_json(every_option_set());
    stored["memory"] = "much";
    stored["mounts"] = {1};
    stored.erase("keep");
    const auto read = run_options_from_json(stored);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == error_class::config);
    for (const auto* name : {"options.json", "memory: ", "mounts: ", "keep"}) {
        INFO(name);
        CHECK(read.error().message.find(name) != std::string::npos);
    }
    CHECK_FALSE(run_options_from_json(nlohmann::json::array()));
}
