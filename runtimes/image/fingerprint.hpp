/// A SHA-256 that is built up in pieces. Two uses: over contents (an environment's digest), and over what stat says of
/// files, to see cheaply whether anything changed.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/sha256.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace chalk::image {

class fingerprint {
  public:
    fingerprint() = default;
    ~fingerprint() = default;
    fingerprint(const fingerprint&) = delete;
    fingerprint& operator=(const fingerprint&) = delete;

    /// One field; its length goes in too, so that fields cannot run into each other.
    void add(std::string_view field);
    /// What stat says of `path` (not of what a link points at), and of everything below it in the order of names.
    void add_tree(const std::filesystem::path& path);
    /// The same without what is below it. A path that is not there counts too.
    void add_tree_root(const std::filesystem::path& path);
    /// A file's contents.
    [[nodiscard]] result<void> add_contents(const std::filesystem::path& file);
    /// 64 lower-case digits; nothing can be added afterwards.
    [[nodiscard]] std::string hex();

  private:
    sha256_sum sum_;
};

} // namespace chalk::image
