/// JSON that a person wrote, with the line of every value, for messages that say where. Stricter than the bare parser:
/// a duplicate key is an error, nesting is bounded.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/core/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace chalk::config {

struct json_document {
    std::string name; ///< the file as the user wrote it, or "--config"
    json value;
    std::map<std::string, std::size_t> lines; ///< from 1, by JSON path: "limits.max_turns", "script[0][1].text"

    /// "run_config.json:7": the line of the path, or of the nearest thing around it; else the name alone.
    [[nodiscard]] std::string place_of(const std::string& path) const;
};

/// error_class::config: "<name>:<line>: <path>: <cause>".
[[nodiscard]] result<json_document> read_json_document(std::string_view text, std::string name);

/// `base.key`, or `key` alone at the top; a key that would be ambiguous is quoted.
[[nodiscard]] std::string join_path(std::string_view base, std::string_view key);
/// `base[index]`
[[nodiscard]] std::string join_path(std::string_view base, std::size_t index);

} // namespace chalk::config
