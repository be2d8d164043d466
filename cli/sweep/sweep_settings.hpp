/// What the tree of a sweep starts from. `chalk sweep` and the benchmark start theirs alike.
#pragma once

#include "actors/tree.hpp"
#include "cli/sweep/sweep_folder.hpp"
#include "cli/sweep/sweep_site.hpp"

namespace chalk::cli {

/// All but the models. `site` is referred to and must outlive the tree. error_class::harness: a helper of this build is
/// missing.
[[nodiscard]] result<actors::tree_settings> make_sweep_settings(sweep_site& site, const std::filesystem::path& folder,
                                                                opened_sweep opened,
                                                                std::shared_ptr<actors::watcher> watch);

} // namespace chalk::cli
