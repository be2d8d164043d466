#include "actors/cluster/link_frames.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace chalk::actors {

namespace {

// CAF 0.17's numbers (caf/io/basp/message_type.hpp).
constexpr std::uint8_t server_handshake_operation = 0;
constexpr std::uint8_t client_handshake_operation = 1;
constexpr std::uint8_t last_known_operation = 6;
constexpr std::size_t length_offset = 4;

std::uint32_t claimed_length(std::string_view header) {
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < sizeof length; ++i) {
        length = length << 8U | static_cast<unsigned char>(header[length_offset + i]);
    }
    return length;
}

} // namespace

result<link_frames::piece> link_frames::take(std::string_view next) {
    if (owed_ == 0) {
        return take_header(next);
    }
    if (next.size() != owed_) {
        return harness_failure(fmt::format("a payload of {} bytes came in {}", owed_, next.size()));
    }
    owed_ = 0;
    return owed_as_;
}

result<link_frames::piece> link_frames::take_header(std::string_view next) {
    if (next.size() != header_size) {
        return harness_failure(fmt::format("a header came in {} bytes", next.size()));
    }
    const auto operation = static_cast<std::uint8_t>(next.front());
    if (operation > last_known_operation) {
        return harness_failure(fmt::format("the peer sent an unknown operation ({})", operation));
    }
    const bool first = !std::exchange(greeted_, true);
    const auto greeting = side_ == link_side::dialing ? server_handshake_operation : client_handshake_operation;
    if (first && operation != greeting) {
        return harness_failure(fmt::format("the peer began with operation {} and not with its handshake", operation));
    }
    if (!first && operation <= client_handshake_operation) {
        return harness_failure("the peer sent a second handshake");
    }
    const auto length = claimed_length(next);
    const auto most = first ? most_handshake : most_payload_;
    if (length > most.count) {
        return harness_failure(fmt::format("the peer announced {} bytes at once, more than {}", length, most.count));
    }
    if (first && length == 0) {
        return harness_failure("the peer sent an empty handshake");
    }
    owed_ = length;
    owed_as_ = first ? piece::handshake : piece::payload;
    return piece::header;
}

} // namespace chalk::actors
