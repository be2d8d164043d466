/// The chunks of a tree out of the folder that it was read from, so that what is sent need not be stored twice.
///
/// Owner: who serves the tree. The folder may have changed, and may be a student's: no symlink is followed, and each
/// chunk is held against its name. Blocking; one thread at a time.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/store/tree_manifest.hpp"

#include <filesystem>
#include <unordered_map>

namespace chalk::store {

class folder_source {
  public:
    /// error_class::harness when the folder cannot be opened.
    [[nodiscard]] static result<folder_source> open(const std::filesystem::path& folder, const tree_manifest& tree);

    /// error_class::harness: not a chunk of the tree, or its file has changed since.
    [[nodiscard]] result<std::string> read(const chunk_digest& name) const;

  private:
    struct place {
        std::size_t file = 0; ///< in files_
        std::uint64_t offset = 0;
        std::size_t size = 0;
    };
    folder_source(unique_fd root, const tree_manifest& tree);

    unique_fd root_;
    std::vector<std::string> files_;
    std::unordered_map<chunk_digest, place> places_;
};

} // namespace chalk::store
