/// A cluster file: the nodes that carry a sweep out, and how its coordinator is known to them (`chalk sweep
/// --cluster`).
#pragma once

#include "config/key_table.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::config {

struct cluster_file {
    std::string listen;             ///< ADDR:PORT where nodes come by themselves; empty: nowhere
    std::vector<std::string> nodes; ///< HOST:PORT of nodes that listen
    std::filesystem::path tls;      ///< the folder with the certificates
    std::string name;               ///< whose certificate is ours; empty: the one that there is
    std::vector<std::string> allow; ///< names of nodes; empty: whoever the cluster's authority has signed
    std::optional<milliseconds> lease;
    std::string metrics; ///< ADDR:PORT
};

/// TOML if the name ends in .toml, JSON otherwise. Relative paths are the file's. error_class::config names the place
/// and the nearest known key.
[[nodiscard]] result<cluster_file> load_cluster_file(const std::string& file);

/// What load_cluster_file() reads as the same.
[[nodiscard]] json to_json(const cluster_file& file);

[[nodiscard]] const key_table& cluster_file_table();

} // namespace chalk::config
