/// How control groups go. All of it blocks.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>

namespace chalk::namespaces {

/// Removes the groups below `folder` and then itself; what is gone already is no error. Their processes must be gone: a
/// group that stays busy for a second is an error. error_class::sandbox.
[[nodiscard]] result<void> remove_groups(const std::filesystem::path& folder);

/// Kills what is in the groups below `folder` and removes them. Used on what owners that are gone left.
/// error_class::sandbox.
[[nodiscard]] result<void> kill_and_remove(const std::filesystem::path& folder);

} // namespace chalk::namespaces
