/// What a harness does to its own process before anything else, so that the student cannot slip code into a process
/// that runs as root (docs/reference/lifecycle.md).
#pragma once

#include "protocol/core/result.hpp"

#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace chalk::actors {

/// True when the student could put a file into the folder: it is his, or group or world may write there. A folder that
/// is absent or relative counts as writable: he might make it.
[[nodiscard]] bool student_could_write(const std::string& folder, uid_t student);

/// `list` (of folders or files, separated by any of `separators`) without the entries whose folder `writable` says yes
/// to.
[[nodiscard]] std::string without_writable(std::string_view list, std::string_view separators,
                                           const std::function<bool(const std::string&)>& writable);

/// Cleans PATH, LD_LIBRARY_PATH, LD_PRELOAD and LD_AUDIT of this process. True when the loader's were changed: the
/// loader has acted on them already, so the process has to start anew.
[[nodiscard]] bool clean_search_paths(uid_t student);

/// Takes write permission of group and world from mount points that a runtime left open, but for those with the sticky
/// bit (the workdir and the temp folders).
[[nodiscard]] result<void> close_mount_points();

/// Name lookups stay with "files" and "dns": the image's own NSS modules would be loaded as root.
void configure_name_service();

/// Kills every process below this one, until there is none. For the end of a harness: what the pid namespace's init
/// does too, but here as soon as the run is over.
void kill_descendants();

} // namespace chalk::actors
