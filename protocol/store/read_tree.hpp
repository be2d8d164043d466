/// A folder on disk, read into a manifest. No symlink is followed, nothing but regular files is opened, and all of it
/// is bounded.
///
/// Blocking: call it on a pool.
#pragma once

#include "protocol/store/tree_manifest.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::store {

enum class folder_trust {
    /// An operator's (an environment): what cannot be in a tree fails the reading, since the tree would not be what
    /// its owner sees.
    operators,
    /// A student's (artifacts), who may put anything there: what cannot be in a tree is left out, with a complaint. So
    /// is a file with a hard link outside the folder, which may be another's file, and what lies on another file
    /// system. The student's processes are gone: one that is alive could move links about while they are counted.
    students,
};

struct read_tree_options {
    folder_trust trust = folder_trust::operators;
    /// By path in the tree; what is in a folder that is left out is not looked at. May be empty.
    std::function<bool(const std::string& path)> leave_out = {};
    /// Gets each chunk once it is named, in order, duplicates too; a failure ends the reading. May be empty.
    std::function<result<void>(const chunk_digest& name, std::string_view data)> on_chunk = {};
    bytes max_file = max_file_size;
    bytes max_total = max_tree_size;
    std::size_t max_entries = max_tree_entries;
};

struct read_tree_report {
    tree_manifest tree;
    /// For the log: what was left out of a student's folder and why. At most 100, and a line that says how many more.
    std::vector<std::string> complaints;
};

/// error_class::config with path and cause for an operator's folder; error_class::harness for a student's, which fails
/// only where the folder itself cannot be read; on_chunk's own.
[[nodiscard]] result<read_tree_report> read_tree(const std::filesystem::path& folder, const read_tree_options& options);

} // namespace chalk::store
