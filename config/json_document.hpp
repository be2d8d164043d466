/// JSON that a person wrote, or TOML read as JSON, with the line of every value, for messages that say where. Stricter
/// than the bare parser: a duplicate key is an error, nesting is bounded.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/core/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::config {

struct json_place {
    std::size_t line = 0;  ///< from 1
    std::size_t order = 0; ///< sorts as the text does; json objects themselves forget the order of their keys
};

struct json_document {
    std::string name; ///< the file as the user wrote it, or "--config"
    json value;
    std::map<std::string, json_place> places = {}; ///< by JSON path: "limits.max_turns", "script[0][1].text"
    std::string root = {}; ///< path of `value` in the file, where it is but a part of it (`part`)

    /// Of a path below `value`: "run_config.json:7", the line of the path, or of the nearest thing around it; else the
    /// name alone.
    [[nodiscard]] std::string place_of(const std::string& path) const;
    /// A path below `value` as the file has it.
    [[nodiscard]] std::string full_path(const std::string& path) const;
    /// error_class::config: "<place>: <path>: <cause>".
    [[nodiscard]] failure at(const std::string& path, std::string_view cause) const;
    /// The names in the object that stands at `path`, in the order of the file.
    [[nodiscard]] std::vector<std::string> names_at(const json& object, const std::string& path) const;
    /// The value of a key at the top, as a document of its own; messages go on naming the whole file.
    [[nodiscard]] json_document part(const std::string& key) const;
};

/// error_class::config: "<name>:<line>: <path>: <cause>".
[[nodiscard]] result<json_document> read_json_document(std::string_view text, std::string name);

/// `base.key`, or `key` alone at the top; a key that would be ambiguous is quoted.
[[nodiscard]] std::string join_path(std::string_view base, std::string_view key);
/// `base[index]`
[[nodiscard]] std::string join_path(std::string_view base, std::size_t index);

} // namespace chalk::config
