/// An environment's folder on the host, and the same as sandboxes see it.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>

namespace chalk::image {

/// What is no part of an environment, by its path in the folder, with all below it: `out`, `.git`, `.venv`,
/// `node_modules` at the top, and `__pycache__` anywhere.
[[nodiscard]] bool is_left_out(const std::filesystem::path& relative);

/// Reads `[tool.chalk] mask` of the folder's pyproject.toml and computes the digest. What is_left_out is in neither the
/// digest nor a sandbox. error_class::config.
[[nodiscard]] result<environment_source> load_environment_source(const std::filesystem::path& folder);

/// The cache entry of a staged environment: its folder "root" goes over the root file system (/root/environment,
/// /root_data, /intermediate_data), "workdir" under /workdir (data, shared), with final owners and modes
/// (docs/reference/data-folders.md).
[[nodiscard]] result<cache_entry> stage(const cache& where, const environment_source& environment,
                                        const tree_owners& owners);

} // namespace chalk::image
