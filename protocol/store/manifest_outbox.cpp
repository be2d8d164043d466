#include "protocol/store/manifest_outbox.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::store {

result<void> manifest_outbox::want(const want_tree& asked) {
    if (wanted() >= max_trees_wanted) {
        return harness_failure(fmt::format("more than {} trees are wanted at once", max_trees_wanted));
    }
    waiting_.push_back(asked.tree);
    return {};
}

std::optional<tree_digest> manifest_outbox::next_tree() const {
    return sender_ || waiting_.empty() ? std::nullopt : std::optional(waiting_.front());
}

void manifest_outbox::begin(shared_manifest_text text) {
    sender_.emplace(waiting_.front(), std::move(text));
    waiting_.pop_front();
}

void manifest_outbox::refuse() {
    waiting_.pop_front();
}

std::optional<manifest_piece> manifest_outbox::next_piece() {
    if (!sender_) {
        return std::nullopt;
    }
    auto piece = sender_->next();
    if (sender_->done()) {
        sender_.reset();
    }
    return piece;
}

} // namespace chalk::store
