#include "actors/run/artifact_folders.hpp"

#include "protocol/core/unique_fd.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>
#include <future>
#include <string>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
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
        REQUIRE(folders.take_back_empty(out.path() / "runs" / "one", true));
        CHECK_FALSE(has_artifacts(out.path() / "runs" / "one"));
        REQUIRE_FALSE(folders.make(out.path() / "two"));
        CHECK(inode_of(out.path() / "two") == first);
        CHECK_FALSE(std::filesystem::exists(out.path() / "runs" / "one"));
        REQUIRE_FALSE(folders.make(out.path() / "three"));
        REQUIRE(folders.take_back_empty(out.path() / "two", true));
        REQUIRE(folders.take_back_empty(out.path() / "three", true));
    }
    CHECK_FALSE(std::filesystem::exists(out.path() / "two"));
    CHECK_FALSE(std::filesystem::exists(out.path() / "three"));
}

TEST_CASE("a run that is tried again keeps its own artifacts folder") {
    const test::temporary_folder out;
    artifact_folders folders;
    REQUIRE_FALSE(folders.make(out.path() / "run"));
    REQUIRE(folders.take_back_empty(out.path() / "run", true));
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
        CHECK_FALSE(folders.take_back_empty(out.path() / "full", true));
        // Put there after its run ended.
        REQUIRE_FALSE(folders.make(out.path() / "late"));
        REQUIRE(folders.take_back_empty(out.path() / "late", true));
        std::ofstream(out.path() / "late" / "log.txt") << "x";
        REQUIRE_FALSE(folders.make(out.path() / "next"));
    }
    CHECK(std::filesystem::exists(out.path() / "full" / "log.txt"));
    CHECK(std::filesystem::exists(out.path() / "late" / "log.txt"));
    CHECK_FALSE(has_artifacts(out.path() / "next"));
}

TEST_CASE("an artifacts folder that somebody may still write to goes, and so does one that was changed") {
    const test::temporary_folder out;
    artifact_folders folders;
    REQUIRE_FALSE(folders.make(out.path() / "late"));
    CHECK(folders.take_back_empty(out.path() / "late", false));
    CHECK_FALSE(std::filesystem::exists(out.path() / "late"));
    REQUIRE_FALSE(folders.make(out.path() / "flagged"));
    const unique_fd opened(::open((out.path() / "flagged").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int flags = 0;
    if (::ioctl(opened.get(), FS_IOC_GETFLAGS, &flags) != 0) {
        WARN("SKIPPED: this file system has no flags");
        return;
    }
    flags |= FS_NOATIME_FL;
    REQUIRE(::ioctl(opened.get(), FS_IOC_SETFLAGS, &flags) == 0);
    CHECK(folders.take_back_empty(out.path() / "flagged", true));
    CHECK_FALSE(std::filesystem::exists(out.path() / "flagged"));
}

TEST_CASE("no two runs get one artifacts folder, however many ask at once") {
    const test::temporary_folder out;
    artifact_folders folders;
    constexpr int runs_of_each = 200;
    const auto use = [&](const std::string& name) {
        for (int i = 0; i < runs_of_each; ++i) {
            // Each run is tried twice: its folder may be on its way to another run when it asks again.
            const auto folder = out.path() / (name + std::to_string(i));
            for (int attempt = 0; attempt < 2; ++attempt) {
                if (folders.make(folder) || !std::ofstream(folder / name) || !std::filesystem::remove(folder / name) ||
                    !folders.take_back_empty(folder, true)) {
                    return false;
                }
            }
        }
        return true;
    };
    auto other = std::async(std::launch::async, [&] { return use("other"); });
    CHECK(use("one"));
    CHECK(other.get());
}

TEST_CASE("an artifacts folder with other permissions is removed, and a file in its place is refused") {
    const test::temporary_folder out;
    artifact_folders folders;
    REQUIRE_FALSE(folders.make(out.path() / "open"));
    REQUIRE(::chmod((out.path() / "open").c_str(), 0777 | S_ISVTX) == 0);
    CHECK(folders.take_back_empty(out.path() / "open", true));
    CHECK_FALSE(std::filesystem::exists(out.path() / "open"));
    std::ofstream(out.path() / "file") << "x";
    CHECK(folders.make(out.path() / "file") == std::errc::not_a_directory);
}
