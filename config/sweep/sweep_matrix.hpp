/// The matrix of a sweep: every combination of its axes' values, less what the filters leave out. Pure and lazy: cells
/// are computed from their numbers, so that ten million of them cost no memory.
///
/// A cell's number counts combinations, filtered ones too, from 0; the last axis moves fastest, axes in the order of
/// the file. A number is for walking through one loaded file; across edits of the file a cell is known by its id.
#pragma once

#include "protocol/core/json_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chalk::config {

struct sweep_axis {
    std::string name; ///< a run config key ("model"), or a name for keys that move together
    /// What each value assigns: an object of dotted keys, as the file has it ({"model": "openai/x"}). No two are equal,
    /// and no two axes assign the same key.
    std::vector<json> values;
};

/// One entry of include or exclude: for each axis, which of its values (by position) match; an axis that the entry does
/// not mention matches with all.
struct sweep_filter {
    std::vector<std::optional<std::vector<bool>>> allowed; ///< by axis
};

struct cell_values {
    std::uint64_t number = 0;
    std::vector<std::size_t> indices; ///< by axis: position of the value
    json assignment;                  ///< an object of dotted keys
    /// 16 hex digits of SHA-256 over the canonical JSON of `assignment`: adding an axis value renames no other cell.
    std::string id;
    std::string label; ///< for people: "model=openai/x task=a"; "base" for a sweep without axes; at most 120 bytes
};

/// At most `longest` (above 3) bytes of UTF-8, with "..." at the end of what was longer.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t longest);

class sweep_matrix {
  public:
    /// One combination, the base alone.
    sweep_matrix() = default;
    /// error_class::config: more than 2^62 combinations.
    [[nodiscard]] static result<sweep_matrix> make(std::vector<sweep_axis> axes, std::vector<sweep_filter> include,
                                                   std::vector<sweep_filter> exclude);

    [[nodiscard]] const std::vector<sweep_axis>& axes() const noexcept { return axes_; }
    [[nodiscard]] std::uint64_t combinations() const noexcept { return combinations_; }
    /// Combinations that the filters keep. By arithmetic without filters; else whole blocks at a time.
    [[nodiscard]] std::uint64_t count_kept() const;

    [[nodiscard]] bool keeps(std::uint64_t number) const;
    /// The first kept cell whose number is at least `from`.
    [[nodiscard]] std::optional<std::uint64_t> next_kept(std::uint64_t from) const;

    /// `number` is below combinations().
    [[nodiscard]] cell_values at(std::uint64_t number) const;
    [[nodiscard]] std::vector<std::size_t> indices_of(std::uint64_t number) const;

  private:
    std::vector<sweep_axis> axes_;
    std::vector<sweep_filter> include_;
    std::vector<sweep_filter> exclude_;
    std::vector<std::uint64_t> block_ = {1}; ///< by axis: combinations of it and all after it; last: 1
    std::uint64_t combinations_ = 1;
};

} // namespace chalk::config
