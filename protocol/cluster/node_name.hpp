/// The name of a cluster or of one of its nodes, as certificates carry it.
#pragma once

#include "protocol/core/result.hpp"

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace chalk::cluster {

/// 1 to 64 of letters, digits, `.`, `_`, `-`, first character a letter or digit. Safe as a file's name, never hidden,
/// and never taken for a flag. 64 is what a certificate's common name holds. Compared byte by byte.
class node_name {
  public:
    static constexpr std::size_t max_length = 64;

    /// error_class::config with the rule that `text` breaks.
    [[nodiscard]] static result<node_name> parse(std::string_view text);

    [[nodiscard]] const std::string& str() const noexcept { return text_; }
    friend auto operator<=>(const node_name&, const node_name&) = default;

  private:
    explicit node_name(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

/// True for names that differ in nothing but capitals. TLS libraries take them for one.
[[nodiscard]] bool same_but_for_capitals(const node_name& a, const node_name& b) noexcept;

} // namespace chalk::cluster
