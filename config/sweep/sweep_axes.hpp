/// "axes" of a sweep file, from what a user wrote to what the matrix walks.
#pragma once

#include "config/sweep/config_change.hpp"
#include "config/sweep/sweep_matrix.hpp"

#include <filesystem>
#include <vector>

namespace chalk::config {

struct loaded_axes {
    std::vector<sweep_axis> axes;                  ///< in the order of the file
    std::vector<std::vector<axis_change>> changes; ///< by axis and value
};

/// Looks at "axes" of the document, each value alone over the base. error_class::config with place and path.
[[nodiscard]] result<loaded_axes> load_axes(const json_document& document, const std::filesystem::path& folder,
                                            const run_config& base);

} // namespace chalk::config
