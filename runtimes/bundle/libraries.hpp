/// Which shared libraries and which loader an executable of this machine needs.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace chalk::bundle {

struct needed_libraries {
    std::filesystem::path loader;
    std::vector<std::filesystem::path> libraries; ///< without the loader; their file names are the names asked for
};

/// Asks the loader itself (`loader --list executable`), so that its search rules are the ones that count.
/// error_class::harness.
[[nodiscard]] result<needed_libraries> find_libraries(const std::filesystem::path& executable);

/// The paths of such a listing ("libx.so.1 => /lib/libx.so.1 (0x...)"). A library that was not found is a failure.
[[nodiscard]] result<std::vector<std::filesystem::path>> parse_listing(std::string_view listing,
                                                                       const std::filesystem::path& loader);

} // namespace chalk::bundle
