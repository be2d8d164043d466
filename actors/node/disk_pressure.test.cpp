#include "actors/node/disk_pressure.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

disk_room room(std::uint64_t free_mib, std::uint64_t total_mib, std::optional<inode_room> inodes = std::nullopt) {
    return {bytes{free_mib << 20}, bytes{total_mib << 20}, inodes};
}

} // namespace

TEST_CASE("a full disk stops admission, and twice the room that stopped it lets in again") {
    disk_pressure p;
    CHECK_FALSE(p.look(room(300, 100'000)));
    CHECK(p.look(room(200, 100'000)));
    CHECK(p.look(room(300, 100'000)));
    CHECK_FALSE(p.look(room(600, 100'000)));
    CHECK_FALSE(p.look(room(300, 100'000)));
}

TEST_CASE("a small disk may be used up to a fiftieth") {
    disk_pressure p;
    CHECK_FALSE(p.look(room(10, 100)));
    CHECK(p.look(room(1, 100)));
}

TEST_CASE("inodes run out too, where they are counted") {
    disk_pressure p;
    CHECK(p.look(room(10'000, 100'000, inode_room{100, 1'000'000})));
    CHECK_FALSE(p.look(room(10'000, 100'000, inode_room{10'000, 1'000'000})));
}

TEST_CASE("a disk of few inodes may be used up to a fiftieth of them, and lets in again") {
    disk_pressure p;
    CHECK_FALSE(p.look(room(10'000, 100'000, inode_room{100, 1'000})));
    CHECK(p.look(room(10'000, 100'000, inode_room{10, 1'000})));
    CHECK(p.look(room(10'000, 100'000, inode_room{30, 1'000})));
    CHECK_FALSE(p.look(room(10'000, 100'000, inode_room{60, 1'000})));
}
