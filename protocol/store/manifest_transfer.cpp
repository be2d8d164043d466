#include "protocol/store/manifest_transfer.hpp"

#include <fmt/format.h>

namespace chalk::store {

std::optional<manifest_piece> manifest_sender::next() {
    if (done()) {
        return std::nullopt;
    }
    manifest_piece piece{tree_, static_cast<std::uint32_t>(text_->size()), static_cast<std::uint32_t>(sent_),
                         text_->substr(sent_, max_piece)};
    sent_ += piece.data.size();
    return piece;
}

result<std::optional<tree_manifest>> manifest_receiver::add(const manifest_piece& piece) {
    const auto refuse = [&](std::string_view cause) {
        return harness_failure(fmt::format("the manifest of tree {}: {}", wanted_.hex(), cause));
    };
    if (piece.tree != wanted_) {
        return refuse("a piece of another tree's came");
    }
    if (text_.empty()) {
        total_ = piece.total;
    }
    if (total_ > max_manifest_text.count || piece.total != total_ || piece.offset != text_.size() ||
        piece.data.empty() || piece.data.size() > total_ - text_.size()) {
        return refuse(fmt::format("a piece of {} bytes at {} of {} came where {} of {} were here", piece.data.size(),
                                  piece.offset, piece.total, text_.size(), total_));
    }
    text_ += piece.data;
    if (text_.size() < total_) {
        return std::optional<tree_manifest>();
    }
    if (sha256(text_) != wanted_.sum) {
        return refuse("it arrived damaged");
    }
    auto tree = tree_manifest::parse(text_);
    if (!tree) {
        return tree.error();
    }
    return std::optional(std::move(*tree));
}

} // namespace chalk::store
