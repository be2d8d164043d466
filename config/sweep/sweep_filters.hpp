/// "include" and "exclude" of a sweep file, from what a user wrote to what the matrix walks.
#pragma once

#include "config/json_document.hpp"
#include "config/sweep/sweep_matrix.hpp"

#include <string>
#include <vector>

namespace chalk::config {

/// The filters that stand at `key` ("include", "exclude") of the document. error_class::config with place and path: a
/// name that no axis sets, a value that its axis does not have.
[[nodiscard]] result<std::vector<sweep_filter>> load_filters(const json_document& document, const std::string& key,
                                                             const std::vector<sweep_axis>& axes);

} // namespace chalk::config
