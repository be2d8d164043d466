/// A tree that is put together at its place, chunk by chunk as they arrive, and gets its name when it is whole.
///
/// For what is fetched once and never shared (a run's results): out of a cache it would be written twice and read once
/// more, evict what others need (environments), and need a cap above the largest result. Here a byte that arrives is
/// written once, and a full disk is found before the tree is there.
///
/// Owner: a fetch. What has arrived goes with it; a killed process leaves an unfinished folder, which
/// remove_unfinished() takes away. Blocking, one thread at a time. The target's folder is not the student's.
#pragma once

#include "protocol/store/cache_failure.hpp"
#include "protocol/store/materialise.hpp"
#include "protocol/store/tree_manifest.hpp"
#include "protocol/store/unfinished_folder.hpp"

#include <filesystem>
#include <memory>
#include <unordered_map>
#include <vector>

namespace chalk::store {

class tree_assembly {
  public:
    /// Makes the folder beside `target` with all its entries, files still empty. `tree` outlives this.
    /// cache_trouble::full or ::disk; nothing is left then.
    [[nodiscard]] static cache_result<std::unique_ptr<tree_assembly>> begin(const tree_manifest& tree,
                                                                            const std::filesystem::path& target);

    /// `data` is what `name` says, and has the size that the tree gives. cache_trouble::full or ::disk.
    [[nodiscard]] cache_result<void> put(const chunk_digest& name, std::string_view data);

    /// All chunks were put: what stands in several places is copied, and the folder gets its name. Over after it, also
    /// where it fails. As place_tree() does.
    [[nodiscard]] cache_result<void> finish(durability kept);

  private:
    struct place {
        std::size_t entry = 0;
        std::size_t index = 0; ///< of the chunk in its file
    };
    tree_assembly(const tree_manifest& tree, std::filesystem::path target, unfinished_folder folder);

    [[nodiscard]] bool make_entry(const tree_entry& entry) const; ///< or errno is set
    [[nodiscard]] cache_failure trouble_with(const tree_entry& entry) const;
    [[nodiscard]] unique_fd open_file(const tree_entry& entry, int flags) const;
    [[nodiscard]] cache_result<void> write_at(const place& where, std::string_view data) const;
    [[nodiscard]] cache_result<void> copy(const place& from, const place& to) const;

    const tree_manifest& tree_;
    std::filesystem::path target_;
    unfinished_folder folder_;
    std::unordered_map<chunk_digest, place> first_; ///< where each chunk stands first
};

} // namespace chalk::store
