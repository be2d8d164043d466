#include "protocol/cluster/waiting_room.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace chalk::cluster;

namespace {

boost::asio::ip::address place(int number) {
    return boost::asio::ip::make_address(fmt::format("10.0.0.{}", number));
}

} // namespace

TEST_CASE("a room with places puts nobody out") {
    waiting_room room(3);
    for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(room.enter(place(1)).put_out);
    }
    CHECK(room.size() == 3);
}

TEST_CASE("a full room puts out the oldest of the source that has the most") {
    waiting_room room(3);
    const auto alone = room.enter(place(9));
    const auto older = room.enter(place(1));
    const auto newer = room.enter(place(1));
    CHECK(room.enter(place(2)).put_out == older.mine);
    // Now everybody has one: the oldest of all goes.
    CHECK(room.enter(place(3)).put_out == alone.mine);
    CHECK(room.enter(place(4)).put_out == newer.mine);
    CHECK(room.size() == 3);
}

TEST_CASE("a source that fills the room puts out only its own") {
    waiting_room room(4);
    const auto honest = room.enter(place(9));
    for (int i = 0; i < 1000; ++i) {
        CHECK(room.enter(place(1)).put_out != honest.mine);
    }
    room.leave(honest.mine);
    CHECK(room.size() == 3);
}

TEST_CASE("against as many sources as connections a newcomer stays for as many as there are places") {
    waiting_room room(64);
    for (int i = 0; i < 200; ++i) {
        (void)room.enter(place(i));
    }
    const auto honest = room.enter(place(250));
    for (int i = 0; i < 63; ++i) {
        CHECK(room.enter(place(i)).put_out != honest.mine);
    }
    CHECK(room.enter(place(251)).put_out == honest.mine);
}

TEST_CASE("whoever left takes no place, and may leave twice") {
    waiting_room room(1);
    const auto first = room.enter(place(1));
    room.leave(first.mine);
    room.leave(first.mine);
    CHECK(room.size() == 0);
    CHECK_FALSE(room.enter(place(1)).put_out);
}
