#include "cli/cluster/cluster_options.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

TEST_CASE("options that are of one machine are refused in a cluster, all of them at once", "[cluster_options]") {
    run_options how;
    how.rootfs = "/roots/a";
    how.mounts = {"/a:/b:ro"};
    how.prices = "prices.json";
    how.record = "/record";
    how.replay = "/replay";
    how.proxy = "http://proxy";
    how.no_proxy = true;
    how.overcommit = 2;
    const auto refused = check_cluster_options(how);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == error_class::config);
    for (const auto* flag : {"--rootfs: ", "--mount: ", "--prices: ", "--record: ", "--replay: ", "--proxy: ",
                             "--no-proxy: ", "--overcommit: "}) {
        INFO(flag);
        CHECK(refused.error().message.find(std::string("\n  ") + flag) != std::string::npos);
    }
    run_options one;
    one.prices = "prices.json";
    CHECK(check_cluster_options(one).error().message ==
          "not possible in a cluster:\n  --prices: each node has its own: give it to `chalk node`");
}

TEST_CASE("options that mean the same on every machine are fine in a cluster", "[cluster_options]") {
    run_options how;
    CHECK(check_cluster_options(how));
    how.runtime = "namespaces";
    how.memory = 1_GiB;
    how.disk = 1_GiB;
    how.max_concurrent = 3;
    how.keep = true;
    how.no_containerized = true;
    how.json = true;
    CHECK(check_cluster_options(how));
}
