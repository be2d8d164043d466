/// Secrets that a caller hands over in its environment.
#pragma once

#include <string>

namespace chalk {

/// The variable's value, or an empty text; the variable is then gone, also from /proc/PID/environ, so that no child
/// inherits it. Call it before there are threads that read the environment.
[[nodiscard]] std::string take_secret_variable(const char* name);

} // namespace chalk
