/// Whether the disk that transcripts and caches go to has room for another run. Pure; what is free is handed in.
///
/// Owner: the node actor. What runs inside a sandbox has its own limit; this one is about everything else that fills a
/// disk, other programs among it.
#pragma once

#include "protocol/core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace chalk::actors {

struct inode_room {
    std::uint64_t free = 0;
    std::uint64_t total = 0;
};

struct disk_room {
    bytes free;
    bytes total;
    std::optional<inode_room> inodes; ///< absent: the file system does not count them
};

class disk_pressure {
  public:
    /// Says what is the matter while there is too little; nullopt while there is enough. It takes twice as much to let
    /// in again as to stop, so that it does not go to and fro.
    [[nodiscard]] std::optional<std::string> look(const disk_room& room);

  private:
    bool tight_ = false;
};

} // namespace chalk::actors
