/// TOML that a person wrote, read as the JSON that says the same.
#pragma once

#include "config/json_document.hpp"

namespace chalk::config {

/// error_class::config: "<name>:<line>: <path>: <cause>". Dates, times, inf and nan have no JSON and are refused.
[[nodiscard]] result<json_document> read_toml_document(std::string_view text, std::string name);

} // namespace chalk::config
