/// Where the files of a sandbox go that is to leave them behind (sandbox_request::keep).
#pragma once

#include "protocol/core/ids.hpp"
#include "protocol/core/result.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"

#include <filesystem>
#include <string>

namespace chalk::namespaces {

/// A folder of the run's own, with its folders "root" and "student", owned as `owners` says. It is in the cache, so
/// that `chalk gc` removes what nobody came for. error_class::sandbox.
[[nodiscard]] result<std::filesystem::path> make_kept_folder(const image::cache& cache, const run_id& id,
                                                             const std::string& owner,
                                                             const image::tree_owners& owners);

} // namespace chalk::namespaces
