#include "runtimes/namespaces/cgroup_hierarchies.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::namespaces;
using paths = std::vector<std::filesystem::path>;

TEST_CASE("version 1's hierarchies of memory and processes are found, and those that we do not use are not") {
    const auto found =
        find_hierarchies("9:memory:/user/me\n4:pids:/\n2:cpu,cpuacct:/\n",
                         "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                         "31 25 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
                         "32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
                         "33 25 0:29 / /tmp rw - tmpfs tmpfs rw\n");
    REQUIRE(found.size() == 2);
    CHECK(found[0].memory);
    CHECK_FALSE(found[0].pids);
    CHECK_FALSE(found[0].v2);
    CHECK(found[0].bases ==
          paths{"/sys/fs/cgroup/memory/user/me", "/sys/fs/cgroup/memory/user", "/sys/fs/cgroup/memory"});
    CHECK(found[1].pids);
    CHECK(found[1].bases == paths{"/sys/fs/cgroup/pids"});
}

TEST_CASE("version 2 is one hierarchy, whose group is the one without controllers") {
    const auto found = find_hierarchies("1:name=systemd:/elsewhere\n0::/chalk.slice\n",
                                        "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    REQUIRE(found.size() == 1);
    CHECK(found[0].v2);
    CHECK(found[0].bases == paths{"/sys/fs/cgroup/chalk.slice", "/sys/fs/cgroup"});
}

TEST_CASE("texts that are cut short name no hierarchy") {
    CHECK(find_hierarchies("", "").empty());
    CHECK(find_hierarchies("0::/", "24 1 0:22 /\n24 1 0:22 / /sys/fs/cgroup rw - cgroup2").empty());
}
