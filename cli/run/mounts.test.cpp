#include "cli/run/mounts.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

namespace {

std::string refusal(const std::string& argument) {
    const auto parsed = parse_mounts({argument});
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == error_class::config);
    return parsed.error().message;
}

} // namespace

TEST_CASE("a mount has a source that is there and a target, both absolute in the end") {
    const auto parsed = parse_mounts({"/usr/../usr:/opt/x/../y/:ro", "/:/opt/z:ro"});
    REQUIRE(parsed);
    REQUIRE(parsed->size() == 2);
    CHECK(parsed->at(0).source == "/usr");
    CHECK(parsed->at(0).target == "/opt/y");
    CHECK(parsed->at(1).target == "/opt/z");
}

TEST_CASE("a mount that cannot be is refused with its argument and the reason") {
    CHECK(refusal("/usr:/opt") == "--mount /usr:/opt: expected SOURCE:TARGET:ro");
    CHECK(refusal("/usr").find("SOURCE:TARGET:ro") != std::string::npos);
    CHECK(refusal("/usr:/opt:rw").find("read-only") != std::string::npos);
    CHECK(refusal("/no/such:/opt:ro").find("/no/such is no folder") != std::string::npos);
    CHECK(refusal("/usr:opt:ro").find("absolute") != std::string::npos);
    CHECK(refusal("/usr:/:ro").find("absolute path below /") != std::string::npos);
    CHECK(refusal("/usr:/x/../proc/y:ro").find("/proc is chalk's own") != std::string::npos);
}
