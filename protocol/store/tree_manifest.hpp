/// What a folder holds, as text that two machines agree on to the last byte: its SHA-256 names the tree, and whoever
/// has it can fetch the tree's chunks from anyone and know them to be right. docs/protocols/cluster-bulk.md has the
/// grammar.
///
/// A value. One that exists keeps all the rules: a foreign text that breaks one is refused with its line and path.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/store/tree_entry.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace chalk::store {

inline constexpr bytes max_manifest_text = 32_MiB;

/// A chunk that a tree is made of.
struct chunk_need {
    chunk_digest name;
    bytes size;
};

class tree_manifest {
  public:
    /// Of no entries.
    tree_manifest();

    /// Entries in any order; folders have to be among them. error_class::harness with the path and the rule.
    [[nodiscard]] static result<tree_manifest> make(std::vector<tree_entry> entries);

    /// Takes nothing but what text() gives, byte for byte. error_class::harness with line, path and cause.
    [[nodiscard]] static result<tree_manifest> parse(std::string_view text);

    /// By path, bytewise; so a folder stands before what is in it.
    [[nodiscard]] const std::vector<tree_entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] const tree_digest& digest() const noexcept { return digest_; }
    /// Of all files together.
    [[nodiscard]] bytes size() const noexcept { return size_; }
    /// At most max_manifest_text. Made anew at each call.
    [[nodiscard]] std::string text() const;
    /// Each chunk once, in the order in which the tree needs them.
    [[nodiscard]] std::vector<chunk_need> chunks() const;

  private:
    tree_manifest(std::vector<tree_entry> entries, bytes size) : entries_(std::move(entries)), size_(size) {}

    std::vector<tree_entry> entries_;
    tree_digest digest_;
    bytes size_;
};

} // namespace chalk::store
