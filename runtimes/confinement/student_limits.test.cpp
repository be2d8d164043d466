#include "runtimes/confinement/student_limits.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

#include <sys/resource.h>

using namespace chalk;

namespace {

std::uint64_t value_of(const std::vector<process::resource_limit>& limits, int resource) {
    const auto found =
        std::find_if(limits.begin(), limits.end(), [resource](const auto& one) { return one.resource == resource; });
    REQUIRE(found != limits.end());
    return found->value;
}

} // namespace

TEST_CASE("the harness keeps a gibibyte of the sandbox's memory, or half of a small sandbox", "[student_limits]") {
    CHECK(confinement::student_memory(4_GiB) == 3_GiB);
    CHECK(confinement::student_memory(2_GiB) == 1_GiB);
    CHECK(confinement::student_memory(512_MiB) == 256_MiB);
}

TEST_CASE("the student's limits are chalk's own, or the machine's where those are lower", "[student_limits]") {
    const auto open = confinement::make_student_limits([](int) { return ~0ULL; });
    CHECK(value_of(open, RLIMIT_NOFILE) == confinement::student_open_files);
    CHECK(value_of(open, RLIMIT_CPU) == 14'400);
    CHECK(value_of(open, RLIMIT_FSIZE) == 64ULL << 30U);
    CHECK(value_of(open, RLIMIT_CORE) == 0);
    const auto tight =
        confinement::make_student_limits([](int resource) { return resource == RLIMIT_NOFILE ? 100 : ~0ULL; });
    CHECK(value_of(tight, RLIMIT_NOFILE) == 100);
}
