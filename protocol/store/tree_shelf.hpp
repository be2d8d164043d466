/// What this process has to give: trees by name, each with the text of its manifest and the folder that it was read
/// from. All connections share it.
///
/// Owner: a coordinator (environments) or a node (results), one each. Thread-safe. Lost with its process: who has the
/// folders puts them here again.
#pragma once

#include "protocol/store/manifest_transfer.hpp"
#include "protocol/store/tree_manifest.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace chalk::store {

struct shelved_tree {
    shared_manifest_text text; ///< never null
    std::filesystem::path folder;
};

class tree_shelf {
  public:
    /// `folder` holds the tree. Two runs may leave the same tree (no artifacts, say) in two folders: each is put, and
    /// removed by itself.
    void put(const tree_manifest& tree, const std::filesystem::path& folder);

    /// Who is sending out of it goes on with it, as far as the folder is left alone. Fine when it is not here.
    void remove(const tree_digest& tree, const std::filesystem::path& folder);

    /// Null: not here. What comes back stays what it is, also when it is removed.
    [[nodiscard]] std::shared_ptr<const shelved_tree> find(const tree_digest& tree) const;

  private:
    mutable std::mutex mutex_;
    std::unordered_map<tree_digest, std::vector<std::shared_ptr<const shelved_tree>>> trees_; ///< none is empty
};

} // namespace chalk::store
