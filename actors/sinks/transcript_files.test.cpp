#include "actors/sinks/transcript_files.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include <sys/stat.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::actors;

namespace {

std::string read(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}
file_job job(const std::filesystem::path& file, std::string text) {
    return {file, [text = std::move(text)] { return text; }};
}
std::size_t entries(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{}));
}

} // namespace

TEST_CASE("a batch of files is written whole, and nothing else is left in the folder") {
    const chalk::test::temporary_folder folder;
    std::vector<file_job> jobs;
    for (int i = 0; i < 20; ++i) {
        jobs.push_back(job(folder.path() / (std::to_string(i) + ".json"), std::string(1000, 'a') + std::to_string(i)));
    }
    for (const auto& done : write_durably(jobs)) {
        CHECK(done.has_value());
    }
    CHECK(read(folder.path() / "7.json") == fmt::format("{:a<1000}7", ""));
    CHECK(entries(folder.path()) == 20);
}

TEST_CASE("one file that cannot be written does not touch the others of its batch") {
    const chalk::test::temporary_folder folder;
    std::filesystem::create_directories(folder.path() / "taken.json" / "x");
    const auto done = write_durably({job(folder.path() / "a.json", "a"),
                                     job(folder.path() / "no" / "b.json", "b"),
                                     {folder.path() / "c.json", []() -> std::string { throw std::runtime_error("c"); }},
                                     job(folder.path() / "taken.json", "d"),
                                     job(folder.path() / "e.json", "e")});
    CHECK(done[0].has_value());
    CHECK(!done[1]);
    CHECK(done[1].error().message.find("no") != std::string::npos);
    CHECK(!done[2]);
    CHECK(!done[3]);
    CHECK(done[4].has_value());
    CHECK(read(folder.path() / "e.json") == "e");
    CHECK(entries(folder.path()) == 3);
}

TEST_CASE("as root, a transcript and its artifacts belong to the owner of the folder") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root to give files away");
    }
    const chalk::test::temporary_folder folder;
    REQUIRE(::chown(folder.path().c_str(), 1234, 2345) == 0);
    REQUIRE(write_durably({job(folder.path() / "a.json", "a")}).front().has_value());
    struct stat s {};
    REQUIRE(::stat((folder.path() / "a.json").c_str(), &s) == 0);
    CHECK(s.st_uid == 1234);
    CHECK(s.st_gid == 2345);
    std::filesystem::create_directories(folder.path() / "art" / "deep");
    std::filesystem::create_symlink("/etc/passwd", folder.path() / "art" / "link");
    REQUIRE(give_to_owner_of(folder.path() / "art", folder.path()).has_value());
    REQUIRE(::lstat((folder.path() / "art" / "link").c_str(), &s) == 0);
    CHECK(s.st_uid == 1234);
    REQUIRE(::stat("/etc/passwd", &s) == 0);
    CHECK(s.st_uid == 0);
}
