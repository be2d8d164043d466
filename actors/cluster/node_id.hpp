/// A node's name in its cluster: the one in its certificate. 1 to 64 of letters, digits, `.`, `_`, `-`, the first a
/// letter or digit. Default-constructed it is empty and names no node.
#pragma once

#include "protocol/core/result.hpp"

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace chalk::actors {

class node_id {
  public:
    static constexpr std::size_t max_length = 64;

    node_id() = default;

    /// error_class::config with the rule that `text` breaks.
    [[nodiscard]] static result<node_id> parse(std::string_view text);

    [[nodiscard]] const std::string& str() const noexcept { return text_; }
    friend auto operator<=>(const node_id&, const node_id&) = default;

  private:
    explicit node_id(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

} // namespace chalk::actors

template<>
struct std::hash<chalk::actors::node_id> {
    std::size_t operator()(const chalk::actors::node_id& id) const noexcept {
        return std::hash<std::string>{}(id.str());
    }
};
