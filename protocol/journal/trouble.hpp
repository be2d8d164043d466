/// What the parts of the journal say alike.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace chalk::journal {

/// Name of the journal in a sweep's folder.
inline constexpr std::string_view journal_name = "journal.sqlite";

/// Why the journal could not be read or written, for whoever acts on it; the failure's message is for people.
enum class trouble {
    none,
    disk_full,
    input_output,
    busy,          ///< another process holds it
    contradiction, ///< a record that contradicts the journal: trying again will not help
    damaged,
    other,
};

/// error_class::config: there is no journal in `folder`, or one may not look for it.
[[nodiscard]] result<void> look_for_journal(const std::filesystem::path& folder);
/// Says what can still be done, as its last words: damage_remedy.
[[nodiscard]] failure damaged(const std::filesystem::path& file, const std::string& found);

[[nodiscard]] std::string damage_remedy(const std::filesystem::path& folder);

/// Of this machine, "an unknown host" where it has no name.
[[nodiscard]] std::string host_name();

[[nodiscard]] std::int64_t milliseconds_of(wall_time t) noexcept;
[[nodiscard]] wall_time time_of(std::int64_t ms) noexcept;

} // namespace chalk::journal
