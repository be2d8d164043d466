#include "actors/harness/place_pool.hpp"

#include "tests/support/catch.hpp"

#include <fstream>

#include <sys/stat.h>

using namespace chalk;
using namespace chalk::actors;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const fs::path& file) {
    struct stat found {};
    REQUIRE(::lstat(file.c_str(), &found) == 0);
    return found.st_mode & 07777U;
}

void require_as_made(const fs::path& folder) {
    for (const auto& [path, mode] : place_shapes) {
        CHECK(mode_of(folder / path) == mode);
    }
    CHECK(std::distance(fs::directory_iterator(folder), {}) == 4);
    CHECK(std::distance(fs::directory_iterator(folder / "workdir"), {}) == 2);
    CHECK(fs::is_empty(folder / "workdir/data"));
    CHECK(fs::is_empty(folder / "root_data"));
    CHECK(fs::is_empty(folder / "out"));
}

} // namespace

TEST_CASE("a folder that was given back comes again, empty") {
    place_pool pool;
    const auto folder = pool.take().value();
    require_as_made(folder);
    fs::create_directories(folder / "workdir/deep/er");
    std::ofstream(folder / "workdir/deep/er/file") << "x";
    std::ofstream(folder / "workdir/data/file") << "x";
    std::ofstream(folder / "beside") << "x";
    fs::create_directory_symlink("/usr", folder / "root_data/link");
    REQUIRE(pool.give_back(folder));
    CHECK(fs::exists("/usr/bin"));

    const auto again = pool.take().value();
    CHECK(again == folder);
    require_as_made(again);
    const auto other = pool.take().value();
    CHECK(other != folder);
    REQUIRE(pool.give_back(again));
    REQUIRE(pool.give_back(other));
}

TEST_CASE("a folder in which something may still run is not used again") {
    place_pool pool;
    const auto folder = pool.take().value();
    REQUIRE(place_pool::remove(folder));
    CHECK_FALSE(fs::exists(folder));
    const auto other = pool.take().value();
    CHECK(other != folder);
    REQUIRE(pool.give_back(other));
}

TEST_CASE("a folder that is not as it was made is not used again") {
    place_pool pool;
    const auto folder = pool.take().value();
    SECTION("another mode") {
        fs::permissions(folder / "workdir", fs::perms::all);
    }
    SECTION("a link in its place") {
        fs::remove(folder / "workdir/shared");
        fs::create_directory_symlink("/usr", folder / "workdir/shared");
    }
    SECTION("gone") {
        fs::remove_all(folder / "root_data");
    }
    REQUIRE(pool.give_back(folder));
    CHECK_FALSE(fs::exists(folder));
    CHECK(fs::exists("/usr/bin"));
}

TEST_CASE("nothing is left of a pool that was closed") {
    fs::path kept;
    fs::path late;
    {
        place_pool pool;
        kept = pool.take().value();
        late = pool.take().value();
        REQUIRE(pool.give_back(kept));
        CHECK(fs::exists(kept));
        pool.close();
        CHECK_FALSE(fs::exists(kept));
        REQUIRE(pool.give_back(late));
    }
    CHECK_FALSE(fs::exists(late));
}
