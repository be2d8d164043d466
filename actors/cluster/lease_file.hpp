/// The number of the lease that a node has, in its folder: its next process shows it, so that the coordinator knows it
/// for the same node, and gives it up. Not when it ends: only the coordinator can say whether it has.
///
/// Both block. Owner: the node agent; one process at a time.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "protocol/core/result.hpp"

#include <filesystem>
#include <optional>

namespace chalk::actors {

/// Whole or not at all, and durable. error_class::harness.
[[nodiscard]] result<void> write_lease_file(const std::filesystem::path& file, lease_number number);
/// nullopt: there is none that makes sense, and the node joins as a new one.
[[nodiscard]] std::optional<lease_number> read_lease_file(const std::filesystem::path& file);

} // namespace chalk::actors
