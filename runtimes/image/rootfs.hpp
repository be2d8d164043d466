/// A whole root file system for sandboxes that shall not stand on the host's own /usr: from a folder or a tar file.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/image/cache.hpp"

#include <filesystem>

namespace chalk::image {

/// The cache entry of `source` (a folder, or a tar file, compressed or not), made anew when what stat says of it
/// changes. Its folder "tree" has the modes and owners of the source, the folders that a sandbox mounts on, the users
/// root, student and nobody, and no devices. `owner_base` is added to all owners. error_class::image.
[[nodiscard]] result<cache_entry> get_rootfs(const cache& where, const std::filesystem::path& source,
                                             std::uint32_t owner_base);

/// `table` (the text of /etc/passwd or /etc/group) with `line` in it, instead of another entry of the same name or
/// number.
[[nodiscard]] std::string with_entry(std::string_view table, const std::string& line);

} // namespace chalk::image
