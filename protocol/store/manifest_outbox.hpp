/// The sending side's queue of manifests: a request has 37 bytes and its answer up to 32 MiB, so that few may wait, and
/// one is under way. Pure. Owner: who writes the connection; one of these a connection, lost with it.
///
///     while there is room on the connection:
///         next_piece()                       a piece of what is under way: write it
///         next_tree(), then begin or refuse  nothing is under way: look its text up
#pragma once

#include "protocol/store/manifest_transfer.hpp"

#include <deque>
#include <optional>

namespace chalk::store {

class manifest_outbox {
  public:
    /// error_class::harness when max_trees_wanted are unanswered: the peer broke a rule. Nothing is taken then.
    [[nodiscard]] result<void> want(const want_tree& asked);

    /// Whose text is to be looked up now; the same one until begin() or refuse(). nullopt: nothing is wanted, or a
    /// manifest is under way.
    [[nodiscard]] std::optional<tree_digest> next_tree() const;
    /// The text of next_tree(), which there is; not null and not empty.
    void begin(shared_manifest_text text);
    /// next_tree(), which there is, is not here: its owner says so with bulk_fault::unknown_tree.
    void refuse();

    /// To be sent now. nullopt: nothing is under way. With the last piece the tree is answered and its text let go of,
    /// before the piece is written: its receiver may have it, and ask for the next tree, before a write is known to be
    /// done.
    [[nodiscard]] std::optional<manifest_piece> next_piece();

    /// Not answered yet.
    [[nodiscard]] std::size_t wanted() const noexcept { return waiting_.size() + (sender_ ? 1 : 0); }

  private:
    std::deque<tree_digest> waiting_;
    std::optional<manifest_sender> sender_; ///< of what is under way
};

} // namespace chalk::store
