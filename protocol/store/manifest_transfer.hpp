/// A manifest in pieces: longer than a frame may be, so cut by the one side and put together by the other.
#pragma once

#include "protocol/store/bulk_messages.hpp"

#include <optional>
#include <string>

namespace chalk::store {

/// Owner: who sends it; asks for the next piece when the last one is written.
class manifest_sender {
  public:
    explicit manifest_sender(const tree_manifest& tree) : tree_(tree.digest()), text_(tree.text()) {}

    /// nullopt: that was all.
    [[nodiscard]] std::optional<manifest_piece> next();

  private:
    tree_digest tree_;
    std::string text_;
    std::size_t sent_ = 0;
};

/// Owner: who asked for the tree. Holds what has come, max_manifest_text at most.
class manifest_receiver {
  public:
    explicit manifest_receiver(const tree_digest& wanted) : wanted_(wanted) {}

    /// The manifest, once its last piece is here. error_class::harness: a piece of another tree or out of order, a text
    /// that is not what the name says, or no manifest. After either this is over.
    [[nodiscard]] result<std::optional<tree_manifest>> add(const manifest_piece& piece);

  private:
    tree_digest wanted_;
    std::string text_;
    std::uint32_t total_ = 0;
};

} // namespace chalk::store
