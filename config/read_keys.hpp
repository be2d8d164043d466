/// From a file to the keys of a table: the strict reader that run configs and sweep files share.
#pragma once

#include "config/json_document.hpp"
#include "config/key_table.hpp"
#include "config/run_config.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace chalk::config {

inline constexpr bytes largest_config = 8_MiB;

/// A config's text before it is understood: the document, and the folder that its paths are relative to (empty: the
/// working directory).
struct config_source {
    json_document document;
    std::filesystem::path folder;
};

/// `source` is JSON text when its first non-blank character is `{`, else the path of a file: TOML if it ends in .toml,
/// JSON otherwise.
[[nodiscard]] result<config_source> read_config_source(const std::string& source);
[[nodiscard]] result<json_document> read_config_file(const std::filesystem::path& file);

struct read_rules {
    std::vector<override_value> overrides = {}; ///< the last one for a key stands
    bool required_too = true;                   ///< a required key that is missing is an error
};

/// Looks at every key of the document and hands each value that is there, or that a flag gives, to `set`. Returns where
/// every key's value comes from. error_class::config with place, path, what was expected, and the nearest known key.
[[nodiscard]] result<provenance> read_keys(const json_document& document, const key_table& table,
                                           const read_rules& rules,
                                           const std::function<void(const key_spec&, const json&)>& set);

/// A run config without a made-up id. Without `required_too` its environment may be empty.
[[nodiscard]] result<loaded_run_config> load_run_config(const config_source& source, const read_rules& rules);

/// What is said of a name that is no key of `group` ("" is the top): "unknown key; did you mean ...".
[[nodiscard]] std::string unknown_key(const key_table& table, const std::string& group, const std::string& name);

} // namespace chalk::config
