#include "actors/harness/left_places.hpp"

#include "runtimes/namespaces/owner.hpp"

#include <fmt/format.h>

#include <system_error>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view folder_prefix = "chalk-run-";

/// Whose folder of this name is; empty: none of ours.
std::string owner_of(const std::string& name) {
    const auto random = name.rfind('-');
    const bool ours = name.starts_with(folder_prefix) && random > folder_prefix.size();
    return ours ? name.substr(folder_prefix.size(), random - folder_prefix.size()) : std::string{};
}

} // namespace

std::string local_folder_template() {
    static const std::string owner = namespaces::make_owner_name();
    return (fs::temp_directory_path() / fmt::format("{}{}-XXXXXX", folder_prefix, owner)).string();
}

result<std::vector<left_place>> remove_left_places(bool dry_run) {
    std::vector<left_place> left;
    std::error_code ec;
    for (fs::directory_iterator entry(fs::temp_directory_path(), ec), end; !ec && entry != end; entry.increment(ec)) {
        auto owner = owner_of(entry->path().filename().string());
        if (!owner.empty() && !namespaces::is_alive(owner)) {
            left.push_back({entry->path(), std::move(owner)});
        }
    }
    if (ec) {
        return sandbox_failure("cannot look for folders of earlier runs: " + ec.message());
    }
    if (dry_run) {
        return left;
    }
    for (const auto& one : left) {
        fs::remove_all(one.folder, ec);
        if (ec) {
            return sandbox_failure(fmt::format("cannot remove {}: {}", one.folder.string(), ec.message()));
        }
    }
    return left;
}

} // namespace chalk::actors
