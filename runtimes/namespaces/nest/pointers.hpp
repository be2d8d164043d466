/// argv and environ as exec wants them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace chalk::nest {

/// Into `before` and `strings`, which must outlive it; ends in a null pointer.
[[nodiscard]] inline std::vector<char*> pointers(const std::vector<std::string>& strings,
                                                 std::initializer_list<const char*> before) {
    std::vector<char*> all;
    for (const char* one : before) {
        all.push_back(const_cast<char*>(one)); // exec's signature predates const; it does not write
    }
    for (const std::string& one : strings) {
        all.push_back(const_cast<char*>(one.c_str()));
    }
    all.push_back(nullptr);
    return all;
}

} // namespace chalk::nest
