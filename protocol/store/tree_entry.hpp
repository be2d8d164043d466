/// One file, folder or symlink of a tree, and what its names may be. A path that passes here can be made below any
/// folder without leaving it.
#pragma once

#include "protocol/core/units.hpp"
#include "protocol/store/digest.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::store {

enum class entry_kind { file, folder, symlink };

[[nodiscard]] std::string_view to_string(entry_kind kind) noexcept;

/// Files are cut at its multiples; the last chunk of a file is what is left. An empty file has none.
inline constexpr bytes chunk_size = 1_MiB;

/// Bounds on every tree, whoever made it: what reads a manifest needs memory for it.
inline constexpr bytes max_file_size = 16_GiB;
inline constexpr bytes max_tree_size = 64_GiB;
inline constexpr std::size_t max_tree_entries = 100'000;
inline constexpr std::size_t max_path_length = 1024; ///< bytes; a link's target also
inline constexpr std::size_t max_name_length = 255;  ///< bytes of one component, as Linux has it
inline constexpr std::size_t max_path_depth = 64;    ///< components

/// Of a file's mode only whether its owner may execute it counts: owners and modes are given out where the tree is
/// used. Times do not count.
struct tree_entry {
    std::string path; ///< relative to the tree, "a/b/c"
    entry_kind kind = entry_kind::file;
    bool executable = false;          ///< of a file
    bytes size;                       ///< of a file
    std::vector<chunk_digest> chunks; ///< of a file, in order
    std::string target;               ///< of a symlink
};

/// How many chunks a file of `size` has.
[[nodiscard]] constexpr std::uint64_t count_chunks(bytes size) noexcept {
    return size.count / chunk_size.count + (size.count % chunk_size.count != 0 ? 1 : 0);
}

/// What is wrong with it as a path in a tree; empty: nothing. Valid UTF-8, relative, no component that is empty, "." or
/// "..", no NUL, within the bounds above.
[[nodiscard]] std::string find_path_fault(std::string_view path);

/// What is wrong with `target` for a symlink at `path` (which has no fault); empty: nothing. A link has to stay in its
/// tree, also by way of other links, so ".." may only stand at the beginning of its target, and no more often than
/// `path` is deep: a ".." behind another link's name would lead up from where that one points to.
[[nodiscard]] std::string find_target_fault(std::string_view path, std::string_view target);

/// "a/b" of "a/b/c"; empty at the top.
[[nodiscard]] std::string_view parent_of(std::string_view path) noexcept;

} // namespace chalk::store
