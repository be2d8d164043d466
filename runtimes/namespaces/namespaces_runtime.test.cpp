#include "runtimes/namespaces/namespaces_runtime.hpp"

#include "runtimes/namespaces/fixture.hpp"

using chalk::test::namespaces_fixture;

TEST_CASE("a sandbox runs its harness and reports how it ended") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const auto result = here.run("echo hello >&3; echo last >&2; exit 7");
    CHECK(result.said == "hello\n");
    CHECK(result.exit.code == 7);
    CHECK(result.exit.signal == 0);
    CHECK(result.exit.last_words == "last\n");
}
