/// The fake model's script as users write it: a list of steps, each a list of turns (docs/howto/fake-model.md).
#pragma once

#include "config/json_document.hpp"

namespace chalk::config {

/// Looks at the shape of `script`, which stands at `path` of `document` ("" for a file that holds nothing else).
/// error_class::config with place, path and what was expected.
[[nodiscard]] result<void> check_fake_script(const json_document& document, const json& script,
                                             const std::string& path);

/// JSON Schema of a script.
[[nodiscard]] json fake_script_schema();

} // namespace chalk::config
