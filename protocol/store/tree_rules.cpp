#include "protocol/store/tree_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::store {

bytes size_of_chunk(bytes size, std::uint64_t index) noexcept {
    return {std::min(chunk_size.count, size.count - index * chunk_size.count)};
}

std::string tree_rules::find_fault(const tree_entry& next) {
    if (entries_ == max_tree_entries) {
        return fmt::format("more than {} entries", max_tree_entries);
    }
    if (auto fault = find_path_fault(next.path); !fault.empty()) {
        return fault;
    }
    if (auto fault = find_place_fault(next); !fault.empty()) {
        return fault;
    }
    if (auto fault = find_content_fault(next); !fault.empty()) {
        return fault;
    }
    if (next.kind == entry_kind::folder) {
        folders_.insert(next.path);
    }
    last_path_ = next.path;
    ++entries_;
    return {};
}

std::string tree_rules::find_place_fault(const tree_entry& next) const {
    if (entries_ > 0 && next.path == last_path_) {
        return "the path is there twice";
    }
    if (entries_ > 0 && next.path < last_path_) {
        return "out of order: it belongs before the entry above it";
    }
    if (const std::string parent(parent_of(next.path)); !parent.empty() && !folders_.contains(parent)) {
        return "what it lies in is no folder of the tree";
    }
    return {};
}

std::string tree_rules::find_content_fault(const tree_entry& next) {
    if (next.kind != entry_kind::symlink && !next.target.empty()) {
        return fmt::format("a {} has no target", to_string(next.kind));
    }
    if (next.kind != entry_kind::file) {
        if (next.executable || next.size.count != 0 || !next.chunks.empty()) {
            return fmt::format("a {} has no content", to_string(next.kind));
        }
        return next.kind == entry_kind::symlink ? find_target_fault(next.path, next.target) : std::string();
    }
    if (next.size > max_file_size) {
        return fmt::format("larger than {} bytes", max_file_size.count);
    }
    if (size_ + next.size > max_tree_size) {
        return fmt::format("with it the tree is larger than {} bytes", max_tree_size.count);
    }
    if (const auto expected = count_chunks(next.size); next.chunks.size() != expected) {
        return fmt::format("{} bytes are {} chunks, not {}", next.size.count, expected, next.chunks.size());
    }
    // Or the tree could never be fetched: one sum cannot stand for two sizes.
    for (std::size_t i = 0; i < next.chunks.size(); ++i) {
        const auto size = size_of_chunk(next.size, i).count;
        if (const auto known = chunk_sizes_.emplace(next.chunks[i], size).first; known->second != size) {
            return fmt::format("chunk {} has {} bytes here and {} elsewhere", next.chunks[i].hex(), size,
                               known->second);
        }
    }
    size_ = size_ + next.size;
    return {};
}

} // namespace chalk::store
