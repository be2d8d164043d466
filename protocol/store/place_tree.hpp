/// The last steps of making a tree's folder, for all who make one: modes, syncs, the name.
#pragma once

#include "protocol/store/materialise.hpp"
#include "protocol/store/unfinished_folder.hpp"

#include <filesystem>

namespace chalk::store {

/// Whether there is anything at `target`.
[[nodiscard]] bool is_placed(const std::filesystem::path& target);

/// Fine when the folder at `target` holds the tree and nothing else. That is so when its maker died after the rename
/// and before it could tell anyone. Its syncs are not known of then, so they are made here. error_class::harness.
[[nodiscard]] result<void> find_placed(const tree_manifest& tree, const std::filesystem::path& target, durability kept);

/// Makes `folder`, which holds the tree, the one at `target`; fine also when somebody else made it meanwhile.
/// error_class::harness with path and cause; then nothing new is there.
[[nodiscard]] result<void> place_tree(const tree_manifest& tree, unfinished_folder folder,
                                      const std::filesystem::path& target, durability kept);

} // namespace chalk::store
