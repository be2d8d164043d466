/// What one value of an axis does to a run config: keys and the values they get, checked and resolved when the sweep
/// file is loaded, so that applying them to a cell cannot fail.
#pragma once

#include "config/json_document.hpp"
#include "config/run_config.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::config {

struct key_spec;

/// A dotted path of something that a run config has: a key, or a value inside one that holds an object.
struct key_path {
    const key_spec* key = nullptr;  ///< a row of run_config_keys() that carries the value
    std::vector<std::string> below; ///< names inside it: "task_args.level" is {"level"}
    const key_spec* rule = nullptr; ///< what the value must fit; null: anything
};

/// No value where a run config has nothing of this name.
[[nodiscard]] std::optional<key_path> find_key_path(std::string_view dotted);

struct config_change {
    std::string path; ///< "task_args.level"
    key_path target;
    json value; ///< resolved: paths absolute, a script read

    void apply(run_config& config) const;
};

/// One value of one axis.
struct axis_change {
    std::vector<config_change> keys;
    std::string place; ///< "sweep.json:12", for provenance and messages
};

/// Where a value stands that is to become a change, and what it will change.
struct change_site {
    const json_document& document;
    std::string path;                    ///< of the value in the document
    const std::filesystem::path& folder; ///< of relative paths
    const run_config& base;
};

/// error_class::config with place and path: an unknown key, one that a sweep sets itself, a value that does not fit,
/// an environment or a script that is not there.
[[nodiscard]] result<config_change> make_change(const change_site& site, const std::string& dotted, const json& value);

/// Why a sweep's runs cannot have this key from their file; empty if they can.
[[nodiscard]] std::string_view why_not_in_a_sweep(std::string_view key);

} // namespace chalk::config
