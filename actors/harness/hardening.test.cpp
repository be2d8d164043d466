#include "actors/harness/hardening.hpp"

#include "tests/support/catch.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

using namespace chalk::actors;
namespace fs = std::filesystem;

TEST_CASE("entries that the student could write to leave a search path, the others keep their order", "[hardening]") {
    const auto writable = [](const std::string& entry) { return entry.starts_with("/open"); };
    CHECK(without_writable("/usr/bin:/open/bin:/bin", ":", writable) == "/usr/bin:/bin");
    CHECK(without_writable("/open/a", ":", writable).empty());
    CHECK(without_writable("", ":", writable).empty());
    CHECK(without_writable("/a:;/b", ":;", writable) == "/a:/b");
    CHECK(without_writable("/lib/a.so /open/b.so", ": ", writable) == "/lib/a.so");
}

TEST_CASE("a folder is the student's when he owns it, when anyone may write there, or when it is not there",
          "[hardening]") {
    auto name = (fs::temp_directory_path() / "chalk-hardening-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const auto me = ::getuid();
    CHECK(student_could_write(name, me));
    CHECK_FALSE(student_could_write(name, me + 1));
    REQUIRE(::chmod(name.c_str(), 01777) == 0);
    CHECK(student_could_write(name, me + 1));
    REQUIRE(::chmod(name.c_str(), 0720) == 0);
    CHECK(student_could_write(name, me + 1));
    fs::remove_all(name);
    CHECK(student_could_write(name, me + 1));
    CHECK(student_could_write("relative", me + 1));
    CHECK(student_could_write("", me + 1));
}

TEST_CASE("only a change of what the loader reads asks for a new start", "[hardening]") {
    const std::string path = ::getenv("PATH");
    const auto student = ::getuid() + 1;
    ::setenv("PATH", "/nowhere/at/all:/usr/bin", 1);
    CHECK_FALSE(clean_search_paths(student));
    CHECK(std::string(::getenv("PATH")) == "/usr/bin");
    ::setenv("LD_PRELOAD", "/nowhere/at/all/x.so", 1);
    CHECK(clean_search_paths(student));
    CHECK(::getenv("LD_PRELOAD") == nullptr);
    CHECK_FALSE(clean_search_paths(student));
    ::setenv("PATH", path.c_str(), 1);
}
