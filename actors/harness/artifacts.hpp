/// Copies what a task's extra_artifact_paths name out of the workdir. The student owns the workdir and may put anything
/// there: no symlink is followed, nothing but regular files is read, and all of it is bounded.
#pragma once

#include "protocol/event/event.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace chalk::actors {

struct artifact_limits {
    bytes size;            ///< of one file
    std::size_t files = 0; ///< per step
};

struct artifact_report {
    std::vector<artifact_saved> saved;
    std::vector<std::string> complaints; ///< for the log: what was left out, and why
};

/// Blocking: call it on a thread of its own. A pattern is relative to `workdir` (or absolute inside it); each component
/// may hold *, ? and [...], and a component ** stands for any folders. A folder stands for all that is in it. Files
/// land in `out`/step-<step>/<path in the workdir>.
[[nodiscard]] artifact_report copy_artifacts(const std::filesystem::path& workdir, const std::filesystem::path& out,
                                             std::size_t step, const std::vector<std::string>& patterns,
                                             const artifact_limits& limits);

} // namespace chalk::actors
