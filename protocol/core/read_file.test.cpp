#include "protocol/core/read_file.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <sys/stat.h>

using namespace chalk;

namespace {

std::string error_of(const std::filesystem::path& file, bytes limit = 1_MiB) {
    auto text = read_file(file, limit);
    return text ? "" : text.error().message;
}

} // namespace

TEST_CASE("a file is read whole, to its limit and not beyond") {
    const test::temporary_folder folder;
    const std::string content(100'000, 'x');
    const auto file = folder.write("f", content);
    CHECK(read_file(file, bytes{100'000}).value() == content);
    CHECK(error_of(file, bytes{99'999}).find("larger than 99999 bytes") != std::string::npos);
}

TEST_CASE("what is no readable file is named with its cause") {
    const test::temporary_folder folder;
    CHECK(error_of(folder.path() / "absent").find("absent: no such file") != std::string::npos);
    CHECK(error_of(folder.path()).find("is a folder") != std::string::npos);
    CHECK(error_of("/dev/zero").find("not a regular file") != std::string::npos);
    REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
    CHECK(error_of(folder.path() / "fifo").find("not a regular file") != std::string::npos);
}

TEST_CASE("a file that claims to be empty is still read") {
    CHECK_FALSE(read_file("/proc/self/status", 1_MiB).value().empty());
}

TEST_CASE("a file that cannot be read says nothing to those who do not ask why") {
    const test::temporary_folder folder;
    CHECK(read_or_empty(folder.write("f", "two\nlines\n")) == "two\nlines\n");
    CHECK(read_or_empty(folder.path() / "absent").empty());
    CHECK(read_or_empty(folder.path()).empty());
}
