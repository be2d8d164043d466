/// The one table of a sweep file's keys; a new key is a new row.
#pragma once

#include "config/key_table.hpp"
#include "config/sweep/sweep_file.hpp"

#include <span>

namespace chalk::config {

struct sweep_key {
    key_spec spec;
    /// As key_spec's, of a sweep file. No function where the loader has a part of its own for the key (base, axes,
    /// include, exclude).
    void (*set)(sweep_file&, const json&) = nullptr;
    json (*get)(const sweep_file&) = nullptr;
};

[[nodiscard]] std::span<const sweep_key> sweep_file_keys();
/// The row of a spec of sweep_file_table().
[[nodiscard]] const sweep_key& row_of(const key_spec& spec);
[[nodiscard]] const key_table& sweep_file_table();

} // namespace chalk::config
