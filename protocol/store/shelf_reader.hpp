/// Chunks out of a shelf's folders, for one connection: keeps the few folders open that it reads from in turn, so that
/// a shelf of thousands of results costs no descriptors.
///
/// Owner: a connection; blocking, one thread at a time.
#pragma once

#include "protocol/store/folder_source.hpp"
#include "protocol/store/tree_shelf.hpp"

#include <list>

namespace chalk::store {

class shelf_reader {
  public:
    /// Folders that are open at a time: as many as a connection fetches trees.
    static constexpr std::size_t most_open = 4;

    explicit shelf_reader(std::shared_ptr<const tree_shelf> shelf) : shelf_(std::move(shelf)) {}

    /// error_class::harness: no such tree, no such chunk, or its file has changed.
    [[nodiscard]] result<std::string> read(const tree_digest& tree, const chunk_digest& chunk);

  private:
    struct open_tree {
        tree_digest tree;
        folder_source source;
    };
    [[nodiscard]] result<void> bring_to_front(const tree_digest& tree);

    std::shared_ptr<const tree_shelf> shelf_;
    std::list<open_tree> open_; ///< used last first
};

} // namespace chalk::store
