/// File system calls as this folder needs them: by descriptor and component, no symlink followed.
#pragma once

#include "protocol/core/unique_fd.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace chalk::store {

/// errno as text.
[[nodiscard]] std::string errno_text();

/// The folder that `path` lies in, below `root`. `path` has no path fault (tree_entry.hpp); a component that is a
/// symlink fails with ELOOP or ENOTDIR. Not open, with errno set, where it fails.
[[nodiscard]] unique_fd open_parent(int root, std::string_view path);

/// "c" of "a/b/c".
[[nodiscard]] std::string last_component(std::string_view path);

/// All names but . and .., sorted, `limit` at most. nullopt with errno set.
[[nodiscard]] std::optional<std::vector<std::string>> list_names(int folder, std::size_t limit);

/// True, or false with errno set.
[[nodiscard]] bool write_whole(int fd, std::string_view data);

/// Fewer bytes than `size` only where the file ends. nullopt with errno set.
[[nodiscard]] std::optional<std::string> read_up_to(int fd, std::size_t size, off_t from);

/// 16 hex digits that nobody else has.
[[nodiscard]] std::string unused_name();

} // namespace chalk::store
