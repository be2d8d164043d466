#include "cli/run/mounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

/// Folders of the root that chalk fills itself.
constexpr std::string_view taken[] = {"chalk", "dev", "out", "proc", "root", "sys", "tmp", "workdir"};

result<read_only_mount> parse_mount(const std::string& argument) {
    const auto wrong = [&](const std::string& what) {
        return config_failure(fmt::format("--mount {}: {}", argument, what));
    };
    const auto mode = argument.rfind(':');
    const auto middle = mode == std::string::npos || mode == 0 ? std::string::npos : argument.rfind(':', mode - 1);
    if (middle == std::string::npos) {
        return wrong("expected SOURCE:TARGET:ro");
    }
    if (argument.substr(mode + 1) != "ro") {
        return wrong("only read-only mounts are possible: end it in :ro");
    }
    std::error_code failed;
    const fs::path source = fs::canonical(argument.substr(0, middle), failed);
    if (failed || !fs::is_directory(source, failed)) {
        return wrong(fmt::format("{} is no folder", argument.substr(0, middle)));
    }
    const fs::path target = fs::path(argument.substr(middle + 1, mode - middle - 1)).lexically_normal();
    if (!target.is_absolute() || target.relative_path().empty()) {
        return wrong("the target must be an absolute path below /");
    }
    const std::string first = target.relative_path().begin()->string();
    if (std::ranges::find(taken, first) != std::end(taken)) {
        return wrong(fmt::format("/{} is chalk's own inside a sandbox; choose another target", first));
    }
    return read_only_mount{source, target.has_filename() ? target : target.parent_path()};
}

} // namespace

result<std::vector<read_only_mount>> parse_mounts(const std::vector<std::string>& arguments) {
    std::vector<read_only_mount> mounts;
    for (const auto& argument : arguments) {
        auto mount = parse_mount(argument);
        if (!mount) {
            return mount.error();
        }
        mounts.push_back(std::move(*mount));
    }
    return mounts;
}

} // namespace chalk::cli
