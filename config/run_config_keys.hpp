/// The one table of a run config's keys. The loader, `chalk config schema`, `chalk config show` and the table in
/// docs/reference/run-config.md all follow from it; a new key is a new row.
#pragma once

#include "config/run_config.hpp"
#include "config/seed.hpp"

#include <span>
#include <string>
#include <string_view>

namespace chalk::config {

enum class value_kind {
    text,
    boolean,
    whole_number,
    amount, ///< a number above 0, up to `maximum`
    object,
    text_list,
    script, ///< of the fake model: a path, or a list of steps (fake_script.hpp)
    // Of a sweep file (sweep/sweep_file_keys.hpp):
    run_config_or_path,
    axes,    ///< an object of lists
    filters, ///< a list of objects
};

struct key_spec {
    std::string_view path; ///< "limits.max_turns": at most one group deep
    value_kind kind = value_kind::text;
    bool required = false;
    bool nullable = false; ///< null is the same as leaving the key out
    std::uint64_t minimum = 0;
    std::uint64_t maximum = 0;
    std::vector<std::string_view> choices = {}; ///< of text and of a text_list's items; empty: any
    std::string_view pattern = {};              ///< of text: as in JSON Schema; the loader has the same rule in code
    std::string_view shown_default = {};        ///< for a reader, where the value itself would not tell
    std::string_view doc = {};                  ///< one sentence, plain text
    /// Takes a value that has passed check_value; null sets a nullable key as if it had been left out. No function
    /// where an enclosing key carries the value, and in the keys of other files than run configs.
    void (*set)(run_config&, const json&) = nullptr;
    json (*get)(const run_config&) = nullptr;
};

/// Of every text that becomes a run_id, or the first part of one. JSON Schema and the loader agree on it through a test
/// (run_config_schema.test.cpp).
inline constexpr std::string_view run_id_pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$";

[[nodiscard]] std::span<const key_spec> run_config_keys();
[[nodiscard]] const key_spec* find_key(std::string_view path);

/// "a whole number from 1 to 65535": for messages and the reference.
[[nodiscard]] std::string expectation(const key_spec& spec);

/// What is wrong with the value ("expected ..., got ..."); empty if nothing is. A script is looked at by
/// fake_script.hpp.
[[nodiscard]] std::string check_value(const key_spec& spec, const json& value);

/// A value for a message, shortened.
[[nodiscard]] std::string preview(const json& value);

/// The rows of docs/reference/run-config.md.
[[nodiscard]] std::string run_config_markdown();

} // namespace chalk::config
