#include "protocol/journal/trouble.hpp"

#include <fmt/format.h>

#include <array>
#include <system_error>

#include <unistd.h>

namespace chalk::journal {

result<void> look_for_journal(const std::filesystem::path& folder) {
    std::error_code denied;
    if (std::filesystem::exists(folder / journal_name, denied)) {
        return {};
    }
    if (denied) {
        return config_failure(fmt::format("cannot look into {}: {}", folder.string(), denied.message()));
    }
    return config_failure(fmt::format("there is no sweep in {}: it has no {}", folder.string(), journal_name));
}

failure damaged(const std::filesystem::path& file, const std::string& found) {
    return harness_failure(
        fmt::format("{} is damaged ({}){}", file.string(), found, damage_remedy(file.parent_path())));
}

std::string damage_remedy(const std::filesystem::path& folder) {
    return fmt::format(
        ": `chalk sweep export {}` writes what can still be read, and the transcripts are in the folder's "
        "runs/",
        folder.string());
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::int64_t milliseconds_of(wall_time t) noexcept {
    return std::chrono::floor<milliseconds>(t.time_since_epoch()).count();
}

wall_time time_of(std::int64_t ms) noexcept {
    return wall_time(milliseconds(ms));
}

} // namespace chalk::journal
