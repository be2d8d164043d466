#include "actors/cluster/link_frames.hpp"

#include "tests/support/catch.hpp"

#include <string>

using namespace chalk;
using namespace chalk::actors;

namespace {

using piece = link_frames::piece;

std::string frame_header(std::uint8_t operation, std::uint32_t length) {
    std::string header(link_frames::header_size, '\0');
    header[0] = static_cast<char>(operation);
    for (std::size_t i = 0; i < 4; ++i) {
        header[4 + i] = static_cast<char>(length >> (24 - 8 * i) & 0xffU);
    }
    return header;
}

/// On the dialing side, after the handshake.
link_frames greeted_frames(bytes most) {
    link_frames frames(link_side::dialing, most);
    REQUIRE(frames.take(frame_header(0, 8)).value() == piece::header);
    REQUIRE(frames.take("12345678").value() == piece::handshake);
    return frames;
}

} // namespace

TEST_CASE("a link takes frames whose payloads are within its bound") {
    auto frames = greeted_frames(1_KiB);
    CHECK(frames.take(frame_header(6, 0)).value() == piece::header);
    CHECK(frames.take(frame_header(2, 1024)).value() == piece::header);
    CHECK(frames.take(std::string(1024, 'x')).value() == piece::payload);
    // A payload as long as a header is a payload.
    CHECK(frames.take(frame_header(2, 32)).value() == piece::header);
    CHECK(frames.take(std::string(32, '\xff')).value() == piece::payload);
    CHECK(frames.take(frame_header(4, 1)).value() == piece::header);
}

TEST_CASE("a link refuses a header that claims more than its bound, before anybody makes room for it") {
    CHECK_FALSE(greeted_frames(1_KiB).take(frame_header(2, 1025)));
    const auto bomb = greeted_frames(16_MiB).take(frame_header(2, 0xF0000000));
    REQUIRE_FALSE(bomb);
    CHECK_THAT(bomb.error().message, Catch::Contains("4026531840"));
    link_frames fresh(link_side::accepting, 16_MiB);
    CHECK_FALSE(fresh.take(frame_header(1, 64 * 1024 + 1)));
}

TEST_CASE("a link takes nothing before the handshake of the other side, and no second one") {
    for (std::uint8_t operation = 1; operation <= 6; ++operation) {
        link_frames dialing(link_side::dialing, 1_MiB);
        CHECK_FALSE(dialing.take(frame_header(operation, 8)));
    }
    link_frames accepting(link_side::accepting, 1_MiB);
    CHECK_FALSE(accepting.take(frame_header(0, 8)));
    link_frames empty(link_side::accepting, 1_MiB);
    CHECK_FALSE(empty.take(frame_header(1, 0)));
    CHECK_FALSE(greeted_frames(1_MiB).take(frame_header(0, 8)));
    CHECK_FALSE(greeted_frames(1_MiB).take(frame_header(1, 8)));
}

TEST_CASE("a link refuses operations that nobody knows and pieces of another size") {
    CHECK_FALSE(greeted_frames(1_MiB).take(frame_header(7, 0)));
    CHECK_FALSE(greeted_frames(1_MiB).take(frame_header(255, 0)));
    CHECK_FALSE(greeted_frames(1_MiB).take("short"));
    auto frames = greeted_frames(1_MiB);
    REQUIRE(frames.take(frame_header(2, 10)));
    CHECK_FALSE(frames.take("123456789"));
}
