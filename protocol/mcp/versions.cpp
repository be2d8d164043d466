#include "protocol/mcp/versions.hpp"

#include <algorithm>
#include <array>

namespace chalk::mcp {
namespace {

constexpr std::array<std::string_view, 5> session_versions = {newest_session_version, "2025-06-18", "2025-03-26",
                                                              "2024-11-05", "2024-10-07"};

} // namespace

bool is_session_version(std::string_view version) noexcept {
    return std::find(session_versions.begin(), session_versions.end(), version) != session_versions.end();
}

bool allows_batches(std::string_view version) noexcept {
    return version < "2025-06-18";
}

bool knows_empty_events(std::string_view version) noexcept {
    return version == newest_session_version;
}

json all_versions() {
    json all = json::array({stateless_version});
    for (const auto version : session_versions) {
        all.push_back(version);
    }
    return all;
}

} // namespace chalk::mcp
