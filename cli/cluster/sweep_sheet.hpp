/// What all runs of a sweep have in common, as the text that its nodes get once. No path of it is ever opened on a
/// node: an environment's is its name there.
///
/// Made by the coordinator, anew and alike when the sweep is resumed; a node keeps it as long as it has runs of the
/// sweep.
#pragma once

#include "actors/node/ledger.hpp"
#include "actors/run/run_deadlines.hpp"
#include "cli/cluster/environment_trees.hpp"
#include "protocol/journal/records.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::cli {

inline constexpr bytes largest_sweep_sheet = 16_MiB;
inline constexpr std::size_t most_sheet_environments = 10'000;
/// In place of a runtime's name: --no-containerized.
inline constexpr std::string_view no_runtime = "none";

/// An environment, and what one run of it may use.
struct sheet_environment {
    std::string name;                       ///< as the run configs have it; builtin:noop too
    std::string digest;                     ///< environment_source's; empty of builtin:noop
    std::optional<store::tree_digest> tree; ///< what to fetch; absent of builtin:noop
    sandbox_limits limits;
    actors::resources reservation;
};

struct sweep_sheet {
    std::string id;      ///< sweep_id_of
    std::string name;    ///< for people
    std::string runtime; ///< "namespaces", or no_runtime
    bool keep = false;   ///< --keep
    /// Of the students, by the coordinator's environment.
    firewall::network_reach reach = firewall::network_reach::local;
    actors::run_deadlines deadlines;
    std::vector<sheet_environment> environments;

    /// Null: the sweep has none of that name.
    [[nodiscard]] const sheet_environment* find(std::string_view environment) const;
};

/// Which sweep a journal is of: 32 hexadecimal digits, the same in every process that opens it, another for another
/// folder. `folder`: the sweep's.
[[nodiscard]] std::string sweep_id_of(const journal::sweep_opened& opened, const std::filesystem::path& folder);

/// `trees` are the site's (read_environment_trees).
[[nodiscard]] sweep_sheet describe_sweep(const sweep_site& site, std::string id,
                                         const std::vector<environment_tree>& trees);

/// error_class::config: more than a sheet holds.
[[nodiscard]] result<std::string> sweep_sheet_text(const sweep_sheet& sheet);

/// error_class::harness with the path of what is wrong.
[[nodiscard]] result<sweep_sheet> read_sweep_sheet(std::string_view text);

} // namespace chalk::cli
