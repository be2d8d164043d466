/// Names of content: the SHA-256 of a chunk, and that of a tree's manifest. Two types, so that none is taken for the
/// other.
#pragma once

#include "protocol/core/sha256.hpp"

#include <compare>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::store {

template<class Content>
struct content_name {
    sha256_digest sum{};

    /// 64 lower-case hex digits.
    [[nodiscard]] std::string hex() const { return hex_of(sum); }
    friend auto operator<=>(const content_name&, const content_name&) = default;
};

/// A piece of a file, 1 MiB at most.
using chunk_digest = content_name<struct chunk_content>;
/// A whole folder: the sum of its manifest's text (tree_manifest.hpp).
using tree_digest = content_name<struct tree_content>;

[[nodiscard]] inline chunk_digest name_chunk(std::string_view data) {
    return {sha256(data)};
}

/// nullopt: not 64 lower-case hex digits.
[[nodiscard]] std::optional<sha256_digest> parse_sha256(std::string_view hex);

} // namespace chalk::store

/// A sum's first bytes are as good as any hash of it. (A peer that picks content for equal ones makes lookups slow, and
/// has to find 64-bit collisions for it.)
template<class Content>
struct std::hash<chalk::store::content_name<Content>> {
    std::size_t operator()(const chalk::store::content_name<Content>& name) const noexcept {
        std::size_t first = 0;
        std::memcpy(&first, name.sum.data(), sizeof first);
        return first;
    }
};
