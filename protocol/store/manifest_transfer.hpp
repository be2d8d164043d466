/// A manifest in pieces: longer than a frame may be, so cut by the one side and put together by the other.
#pragma once

#include "protocol/store/bulk_messages.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace chalk::store {

/// A manifest's text as it is sent: made once and shared by all connections that send it at a time, since it may have
/// max_manifest_text.
using shared_manifest_text = std::shared_ptr<const std::string>;

/// Owner: who sends it; asks for the next piece when the last one is written. Copies a piece at a time.
class manifest_sender {
  public:
    /// `text` is that of `tree`, and not null.
    manifest_sender(const tree_digest& tree, shared_manifest_text text) : tree_(tree), text_(std::move(text)) {}

    /// nullopt: that was all.
    [[nodiscard]] std::optional<manifest_piece> next();
    [[nodiscard]] bool done() const noexcept { return sent_ == text_->size(); }

  private:
    tree_digest tree_;
    shared_manifest_text text_;
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
