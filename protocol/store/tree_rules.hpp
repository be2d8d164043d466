/// The rules that bind a tree's entries to each other, checked as the entries come, in order.
#pragma once

#include "protocol/store/tree_entry.hpp"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace chalk::store {

class tree_rules {
  public:
    /// What is wrong with `next` after all that came before; empty: nothing, and it counts as come.
    [[nodiscard]] std::string find_fault(const tree_entry& next);

    [[nodiscard]] bytes size() const noexcept { return size_; }

  private:
    [[nodiscard]] std::string find_place_fault(const tree_entry& next) const;
    [[nodiscard]] std::string find_content_fault(const tree_entry& next);

    std::string last_path_;
    std::unordered_set<std::string> folders_;
    std::unordered_map<chunk_digest, std::uint64_t> chunk_sizes_;
    std::size_t entries_ = 0;
    bytes size_;
};

/// How large chunk `index` of a file of `size` is.
[[nodiscard]] bytes size_of_chunk(bytes size, std::uint64_t index) noexcept;

} // namespace chalk::store
