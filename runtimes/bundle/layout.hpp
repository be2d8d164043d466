/// Where things are in a bundle, relative to its folder (in a sandbox: sandbox_layout::bundle). Shared with the
/// launcher, so plain.
#pragma once

namespace chalk::bundle_layout {

inline constexpr const char* launcher = "chalk";            ///< static; starts the loader
inline constexpr const char* program = "bin/chalk";         ///< the executable of the host
inline constexpr const char* libraries = "lib";             ///< its shared libraries
inline constexpr const char* loader = "lib/loader";         ///< and the loader they were built for
inline constexpr const char* file_tool = "chalk-file-tool"; ///< static; does the student's file tools
inline constexpr const char* python = "python";             ///< holds the package chalk

} // namespace chalk::bundle_layout
