#include "cli/run/sizes.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

TEST_CASE("sizes are read as people write them") {
    CHECK(parse_size("512MiB").value() == 512_MiB);
    CHECK(parse_size("4 GiB").value() == 4_GiB);
    CHECK(parse_size("1.5G").value() == bytes{(3_GiB).count / 2});
    CHECK(parse_size("2GB").value() == 2_GiB);
    CHECK(parse_size("4096").value() == bytes{4096});
    CHECK(parse_size("10B").value() == bytes{10});
}

TEST_CASE("what is no size is refused with an example") {
    for (const char* text : {"", "x", "-1G", "0", "4 gigs", "4QiB", "4GiBs", "1e300", "nan", "0.2B"}) {
        INFO(text);
        const auto read = parse_size(text);
        REQUIRE(!read);
        CHECK(read.error().message.find("512MiB") != std::string::npos);
    }
}

TEST_CASE("sizes are printed in the largest unit that fits") {
    CHECK(format_size(bytes{1}) == "1 B");
    CHECK(format_size(4_GiB) == "4 GiB");
    CHECK(format_size(bytes{(3_GiB).count / 2}) == "1.5 GiB");
}
