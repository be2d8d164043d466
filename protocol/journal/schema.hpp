/// The journal's tables and how an older journal becomes one of this chalk's. docs/protocols/journal.md describes them.
#pragma once

#include "protocol/journal/database.hpp"

#include <span>

namespace chalk::journal {

/// "chlk": PRAGMA application_id of a journal.
inline constexpr std::int64_t application_id = 0x63686c6b;

/// Brings a journal from one schema version to the next one.
using migration = result<void> (*)(database&);

/// Entry i leads from version i to i + 1; a new file has version 0. Entries are added, never changed.
[[nodiscard]] std::span<const migration> migrations() noexcept;

/// Runs what is missing, all of it or nothing. error_class::config: the file is of a newer chalk, or none of ours.
[[nodiscard]] result<void> migrate(database& journal, std::span<const migration> steps);

/// For readers, which change nothing. error_class::config: another version than `steps` lead to.
[[nodiscard]] result<void> check_version(database& journal, std::span<const migration> steps);

/// SQLite's own check of the whole file, about a second a GB. error_class::harness with the first thing it found.
[[nodiscard]] result<void> quick_check(database& journal);

} // namespace chalk::journal
