/// Messages with descriptors over SOCK_SEQPACKET.
#pragma once

#include "protocol/core/unique_fd.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::nest {

struct packet {
    std::string bytes;
    std::vector<unique_fd> descriptors;
};

/// Blocks for one packet. nullopt: the other side is gone, or sent what cannot be ours (cut short, too many
/// descriptors).
[[nodiscard]] std::optional<packet> receive(int socket);

/// False: the other side is gone. Never blocks for long: our reports are few and small.
bool send(int socket, std::string_view bytes);

/// What failed and errno in words: "mount the overlay r: Invalid argument".
[[nodiscard]] std::string because(std::string_view what, int error);

} // namespace chalk::nest
