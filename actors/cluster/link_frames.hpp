/// Looks at what comes over a link before CAF does. CAF believes a frame's header: it makes room for as many bytes as
/// the header claims, up to 4 GiB, and takes messages of a node that has not said who it is. Here a link follows its
/// frames: the handshake first and once, no operation that CAF does not know, no payload above the bound. Pure.
///
/// A frame is a header of 32 bytes, big-endian as in CAF 0.17, and as much payload as its header says:
/// operation (1), padding (2), flags (1), length of the payload (4), operation data (8), source (8), destination (8).
///
/// Owner: the link's scribe; dies with it.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chalk::actors {

/// Which end of a link this process is. The accepting one speaks first.
enum class link_side : std::uint8_t { dialing, accepting };

class link_frames {
  public:
    static constexpr std::size_t header_size = 32;
    /// A handshake names a node and its root's interface.
    static constexpr bytes most_handshake = 64_KiB;

    enum class piece : std::uint8_t { header, handshake, payload };

    /// `most_payload`: of any frame after the handshake.
    link_frames(link_side side, bytes most_payload) : side_(side), most_payload_(most_payload) {}

    /// The next whole piece: a header, or the payload that the header before it claimed. error_class::harness when
    /// nothing of this link is to be read any more; the message says why.
    [[nodiscard]] result<piece> take(std::string_view next);

  private:
    [[nodiscard]] result<piece> take_header(std::string_view next);

    link_side side_;
    bytes most_payload_;
    bool greeted_ = false;
    std::uint32_t owed_ = 0; ///< bytes of payload that come next; 0: a header comes
    piece owed_as_ = piece::payload;
};

} // namespace chalk::actors
