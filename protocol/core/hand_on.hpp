/// A variable of this process's own environment for a process that gets an environment made for it.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace chalk {

/// Adds NAME=value to `environment` when this process has a variable of that name.
inline void hand_on(const char* name, std::vector<std::string>& environment) {
    if (const char* value = std::getenv(name); value != nullptr) {
        environment.push_back(std::string(name) + '=' + value);
    }
}

} // namespace chalk
