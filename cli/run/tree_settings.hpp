/// What a tree of runs starts from. `chalk run` and the benchmark start theirs alike.
#pragma once

#include "actors/tree.hpp"
#include "cli/run/prepare_run.hpp"

#include <memory>
#include <vector>

namespace chalk::cli {

/// All but the plan and the orders. error_class::harness: a helper of this build is missing.
[[nodiscard]] result<actors::tree_settings>
make_tree_settings(const prepared_runs& prepared, const run_options& options, std::shared_ptr<actors::watcher> watch);

/// With `runs` as one cell; of several, the room where their transcripts go is watched, as a sweep's is. The arguments
/// are referred to and must outlive the tree.
[[nodiscard]] result<actors::tree_settings> make_tree_settings(const prepared_runs& prepared,
                                                               const run_options& options,
                                                               const std::vector<config::run_config>& runs,
                                                               std::shared_ptr<actors::watcher> watch);

} // namespace chalk::cli
