/// Strong ids. A bare string or integer never crosses a boundary as one of these.
#pragma once

#include "protocol/core/result.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace chalk {

/// A run's name: 1 to 100 of letters, digits, `.`, `_`, `-`, not `.` or `..`, first character a letter or digit. Safe
/// as a path component, a cgroup's name and a container's name. Default-constructed it is empty and names no run.
class run_id {
  public:
    static constexpr std::size_t max_length = 100;

    run_id() = default;

    /// error_class::config with the rule that `text` breaks.
    [[nodiscard]] static result<run_id> parse(std::string_view text);

    /// `<this>-<index>`: run `index` of `chalk run -n N`. Fails when the result would be too long.
    [[nodiscard]] result<run_id> indexed(std::size_t index) const;

    [[nodiscard]] const std::string& str() const noexcept { return text_; }
    [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
    friend auto operator<=>(const run_id&, const run_id&) = default;

  private:
    explicit run_id(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

/// Counts from 1. Attempts of one run are kept, never overwritten.
enum class attempt_number : std::uint32_t {};

} // namespace chalk

template<>
struct std::hash<chalk::run_id> {
    std::size_t operator()(const chalk::run_id& id) const noexcept { return std::hash<std::string>{}(id.str()); }
};
