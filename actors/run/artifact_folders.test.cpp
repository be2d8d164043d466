#include "actors/run/artifact_folders.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

#include <sys/stat.h>

using namespace chalk;
using namespace chalk::actors;

namespace {

ino_t inode_of(const std::filesystem::path& folder) {
    struct stat found {};
    REQUIRE(::stat(folder.c_str(), &found) == 0);
    return found.st_ino;
}

} // namespace

TEST_CASE("an empty artifacts folder serves the next run, and none is left at the end") {
    const test::temporary_folder out;
    {
        artifact_folders folders;
        REQUIRE_FALSE(folders.make(out.path() / "runs" / "one"));
        const auto first = inode_of(out.path() / "runs" / "one");
        REQUIRE(folders.take_back_empty(out.path() / "runs" / "one"));
        CHECK_FALSE(has_artifacts(out.path() / "runs" / "one"));
        REQUIRE_FALSE(folders.make(out.path() / "two"));
        CHECK(inode_of(out.path() / "two") == first);
        CHECK_FALSE(std::filesystem::exists(out.path() / "runs" / "one"));
        REQUIRE_FALSE(folders.make(out.path() / "three"));
        REQUIRE(folders.take_back_empty(out.path() / "two"));
        REQUIRE(folders.take_back_empty(out.path() / "three"));
    }
    CHECK_FALSE(std::filesystem::exists(out.path() / "two"));
    CHECK_FALSE(std::filesystem::exists(out.path() / "three"));
}

TEST_CASE("a run that is tried again keeps its own artifacts folder") {
    const test::temporary_folder out;
    artifact_folders folders;
    REQUIRE_FALSE(folders.make(out.path() / "run"));
    REQUIRE(folders.take_back_empty(out.path() / "run"));
    REQUIRE_FALSE(folders.make(out.path() / "run"));
    REQUIRE_FALSE(folders.make(out.path() / "other"));
    CHECK(std::filesystem::is_directory(out.path() / "run"));
    CHECK(std::filesystem::is_directory(out.path() / "other"));
}

TEST_CASE("an artifacts folder that holds something is nobody else's") {
    const test::temporary_folder out;
    {
        artifact_folders folders;
        REQUIRE_FALSE(folders.make(out.path() / "full"));
        std::ofstream(out.path() / "full" / "log.txt") << "x";
        CHECK(has_artifacts(out.path() / "full"));
        CHECK_FALSE(folders.take_back_empty(out.path() / "full"));
        // Put there after its run ended.
        REQUIRE_FALSE(folders.make(out.path() / "late"));
        REQUIRE(folders.take_back_empty(out.path() / "late"));
        std::ofstream(out.path() / "late" / "log.txt") << "x";
        REQUIRE_FALSE(folders.make(out.path() / "next"));
    }
    CHECK(std::filesystem::exists(out.path() / "full" / "log.txt"));
    CHECK(std::filesystem::exists(out.path() / "late" / "log.txt"));
    CHECK_FALSE(has_artifacts(out.path() / "next"));
}

TEST_CASE("an artifacts folder with other permissions is removed, and a file in its place is refused") {
    const test::temporary_folder out;
    artifact_folders folders;
    REQUIRE_FALSE(folders.make(out.path() / "open"));
    REQUIRE(::chmod((out.path() / "open").c_str(), 0777 | S_ISVTX) == 0);
    CHECK(folders.take_back_empty(out.path() / "open"));
    CHECK_FALSE(std::filesystem::exists(out.path() / "open"));
    std::ofstream(out.path() / "file") << "x";
    CHECK(folders.make(out.path() / "file") == std::errc::not_a_directory);
}
