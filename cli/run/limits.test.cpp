#include "cli/run/limits.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

namespace {

const machine two_cores{.memory = bytes{(24_GiB).count + (512_MiB).count},
                        .free_disk = 100_GiB,
                        .processes = 32'768,
                        .cpus = 2,
                        .open_files = 20'000,
                        .sandbox_memory = std::nullopt};

run_options of(std::size_t n) {
    run_options o;
    o.runs = n;
    return o;
}

} // namespace

TEST_CASE("a sandbox gets 4 GiB by default, and the machine's memory decides how many run at once") {
    const auto plan = plan_limits(two_cores, of(50), false).value();
    CHECK(plan.sandbox.memory == 4_GiB);
    CHECK(plan.sandbox.student_memory == 3_GiB);
    CHECK(plan.at_once == 6);
}

TEST_CASE("smaller sandboxes run as many at once as the cpus bear") {
    auto options = of(50);
    options.memory = 512_MiB;
    const auto plan = plan_limits(two_cores, options, false).value();
    CHECK(plan.sandbox.student_memory == 256_MiB);
    CHECK(plan.at_once == 8);
    options.overcommit = 2;
    CHECK(plan_limits(two_cores, options, false).value().at_once == 16);
    options.overcommit = 10;
    CHECK(plan_limits(two_cores, options, false).value().at_once == 25); // process ids are not stretched
}

TEST_CASE("CHALK_SANDBOX_MEMORY_BYTES sets the size, --memory goes before it") {
    auto m = two_cores;
    m.sandbox_memory = 6_GiB;
    CHECK(plan_limits(m, of(1), false).value().sandbox.student_memory == 5_GiB);
    auto options = of(1);
    options.memory = 2_GiB;
    CHECK(plan_limits(m, options, false).value().sandbox.memory == 2_GiB);
}

TEST_CASE("80 % of the free disk is split between the runs that may be alive at once") {
    auto m = two_cores;
    m.free_disk = 10_GiB;
    auto options = of(50);
    options.max_concurrent = 5;
    const auto plan = plan_limits(m, options, false).value();
    CHECK(plan.at_once == 5);
    CHECK(plan.sandbox.disk.count <= (8_GiB).count / 5);
    CHECK(plan.sandbox.disk.count > (8_GiB).count / 5 - 10);
}

TEST_CASE("a machine with no room is refused with a remedy") {
    auto m = two_cores;
    m.free_disk = 1_MiB;
    CHECK(plan_limits(m, of(1), false).error().message.find("disk") != std::string::npos);
    auto options = of(1);
    options.memory = 64_GiB;
    const auto refused = plan_limits(two_cores, options, false);
    REQUIRE(!refused);
    CHECK(refused.error().kind == error_class::config);
    CHECK(refused.error().message.find("--overcommit") != std::string::npos);
    options.overcommit = 3;
    CHECK(plan_limits(two_cores, options, false).has_value());
    options.memory = 1_MiB;
    CHECK(!plan_limits(two_cores, options, false));
}

TEST_CASE("thousands of no-op runs of this process fit at once") {
    auto options = of(2000);
    options.no_containerized = true;
    CHECK(plan_limits(two_cores, options, true).value().at_once == 2000);
}

TEST_CASE("a small machine still gets a sandbox") {
    auto m = two_cores;
    m.memory = 2_GiB;
    CHECK(plan_limits(m, of(1), false).value().sandbox.memory == 768_MiB);
}

TEST_CASE("the disk of a file without a folder is the working directory's") {
    const auto here = look_at_machine({});
    const auto spelled_out = look_at_machine(std::filesystem::current_path());
    REQUIRE(here);
    REQUIRE(spelled_out);
    CHECK((here->free_disk.count > 0) == (spelled_out->free_disk.count > 0));
    CHECK(existing_part({}) == std::filesystem::current_path());
    CHECK(existing_part("not/made/yet") == std::filesystem::current_path());
}
