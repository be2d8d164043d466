#include "protocol/core/secret_variable.hpp"

#include <algorithm>
#include <cstdlib>

namespace chalk {

std::string take_secret_variable(const char* name) {
    char* value = std::getenv(name);
    if (value == nullptr) {
        return {};
    }
    std::string taken = value;
    // Also where it lies: /proc/PID/environ shows what a process was started with.
    std::fill(value, value + taken.size(), '\0');
    ::unsetenv(name);
    return taken;
}

} // namespace chalk
