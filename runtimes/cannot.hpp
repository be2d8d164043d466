/// The failure of a system call on a file.
#pragma once

#include "protocol/core/result.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace chalk {

/// error_class::sandbox: "cannot <what> <path>: <why>". `error` is an errno.
[[nodiscard]] inline failure cannot(std::string_view what, const std::filesystem::path& path, int error) {
    return sandbox_failure(
        fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(error)));
}

} // namespace chalk
