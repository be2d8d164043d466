/// A manifest's text, line by line (docs/protocols/cluster-bulk.md has the grammar), and how long a line will be, so
/// that who collects entries can stop before the text is too long.
#pragma once

#include "protocol/store/tree_entry.hpp"

#include <cstddef>
#include <string>

namespace chalk::store {

/// The first line, without its break.
[[nodiscard]] std::string manifest_head(std::size_t entries);

/// An entry's line, without its break.
[[nodiscard]] std::string manifest_line(const tree_entry& entry);

/// Bytes of the entry's line with its break. Its chunks need not be named yet: its size says how many they are.
[[nodiscard]] std::size_t manifest_line_length(const tree_entry& entry);

} // namespace chalk::store
