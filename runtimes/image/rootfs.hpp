/// A whole root file system for sandboxes that shall not stand on the host's own /usr: from a folder or a tar file.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"

#include <filesystem>

namespace chalk::image {

/// The cache entry of `source` (a folder, or a tar file, compressed or not), made anew when what stat says of it
/// changes. Its folder "tree" has the modes and owners of the source, the folders that a sandbox mounts on, the users
/// root, student and nobody, and no devices. error_class::image.
[[nodiscard]] result<cache_entry> get_rootfs(const cache& where, const std::filesystem::path& source,
                                             const tree_owners& owners);

/// `table` (the text of /etc/passwd or /etc/group) with `line` in it, instead of another entry of the same name or
/// number.
[[nodiscard]] std::string with_entry(std::string_view table, const std::string& line);

} // namespace chalk::image
