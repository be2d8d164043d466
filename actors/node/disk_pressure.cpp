#include "actors/node/disk_pressure.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

namespace {

/// Of a disk, at most this much is kept free: transcripts of the runs under way, the journal, other programs.
constexpr std::uint64_t most_kept_free = 256ULL << 20;
constexpr std::uint64_t most_inodes_kept_free = 2'000;
constexpr std::uint64_t share_kept_free = 50; ///< one 50th of a small disk, in both

std::uint64_t kept(std::uint64_t most, std::uint64_t total) {
    return std::min(most, total / share_kept_free);
}

} // namespace

std::optional<std::string> disk_pressure::look(const disk_room& room) {
    const std::uint64_t factor = tight_ ? 2 : 1;
    const std::uint64_t floor = factor * kept(most_kept_free, room.total.count);
    if (room.free.count < floor) {
        tight_ = true;
        return fmt::format("{} MiB of disk are free, {} MiB are kept", room.free.count >> 20, floor >> 20);
    }
    if (room.inodes) {
        const std::uint64_t inodes_floor = factor * kept(most_inodes_kept_free, room.inodes->total);
        if (room.inodes->free < inodes_floor) {
            tight_ = true;
            return fmt::format("{} inodes of the disk are free, {} are kept", room.inodes->free, inodes_floor);
        }
    }
    tight_ = false;
    return std::nullopt;
}

} // namespace chalk::actors
