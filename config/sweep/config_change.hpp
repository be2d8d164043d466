/// What one value of an axis does to a run config: keys and the values they get, checked and resolved when the sweep
/// file is loaded, so that applying them to a cell cannot fail.
#pragma once

#include "config/run_config.hpp"

#include <string>
#include <vector>

namespace chalk::config {

struct key_spec;

struct config_change {
    const key_spec* key = nullptr;  ///< a row of run_config_keys()
    std::vector<std::string> below; ///< names below a key that holds an object: "task_args.level" is {"level"}
    json value;                     ///< resolved: paths absolute, a script read

    /// "task_args.level"
    [[nodiscard]] std::string path() const;
    void apply(run_config& config) const;
};

/// One value of one axis.
struct axis_change {
    std::vector<config_change> keys;
    std::string place; ///< "sweep.json:12", for provenance and messages
};

} // namespace chalk::config
