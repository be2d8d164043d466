/// Where nothing stops the student from going over a limit, this notices, and kills all of its processes. The run goes
/// on: a tool call that lost its processes says so.
///
/// Owner: the harness actor, where the runtime says what to watch. It measures on a thread of its own, since a walk
/// over many files takes long. Destroying it ends that thread, also in the middle of a walk.
#pragma once

#include "runtimes/confinement/watchdog/usage.hpp"

#include <functional>
#include <memory>

namespace chalk::confinement {

struct watchdog_settings {
    uid_t student = 0;
    watched_limits limits; ///< on disk: of what comes on top of the files that are there at the first look
    std::vector<std::filesystem::path> folders; ///< that the student can write to
    milliseconds interval{1'000};               ///< between the end of a look and the next
};

class watchdog {
  public:
    /// `tripped` hears, from the watchdog's thread, what was passed, after all was killed; not when nothing ran.
    [[nodiscard]] static std::unique_ptr<watchdog> start(watchdog_settings settings,
                                                         std::function<void(std::string)> tripped);
    watchdog() = default;
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    virtual ~watchdog() = default;
};

} // namespace chalk::confinement
