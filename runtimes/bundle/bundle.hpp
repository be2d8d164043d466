/// The harness as it travels into a sandbox of any image: chalk's executable, its shared libraries and their loader, a
/// static launcher in front, the static helper of the student's file tools, and the Python SDK. Made once per build of
/// chalk and kept in the cache; mounted read-only, for root alone (docs/adr).
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"

#include <filesystem>
#include <optional>

namespace chalk::bundle {

/// What a bundle is made from.
struct parts {
    std::filesystem::path program;
    std::filesystem::path launcher;
    std::filesystem::path file_tool;
    std::filesystem::path python; ///< the folder that holds the package chalk
};

/// A helper program of this build: beside the running executable (a build folder), else in ../libexec/chalk of it (an
/// installed chalk). error_class::harness with the places that were looked at.
[[nodiscard]] result<std::filesystem::path> find_helper(std::string_view name);

/// The running chalk and its helpers. The SDK is ../share/chalk/python of an installed chalk, else the source folder
/// that this build was made from.
[[nodiscard]] result<parts> find_parts();

/// The cache entry of the bundle; its folder "tree" has the layout of layout.hpp.
[[nodiscard]] result<image::cache_entry> get_bundle(const image::cache& where, const parts& from,
                                                    const image::tree_owners& owners);

} // namespace chalk::bundle
