#include "protocol/journal/journal_file.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/journal/database.hpp"
#include "protocol/journal/folder_lock.hpp"
#include "protocol/journal/schema.hpp"
#include "protocol/journal/writer.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

namespace chalk::journal {

namespace {

// Pages of the write-ahead file after which it is copied back into the journal: 40 MB. SQLite's own 1000 would add a
// checkpoint's syncs to every tenth batch.
constexpr int checkpoint_pages = 10000;
// Without one it would keep the size that a long reader once made it grow to.
constexpr std::int64_t write_ahead_limit = 64 << 20;

/// A new file is durable when its folder's entry for it is.
result<void> sync_folder(const std::filesystem::path& folder) {
    const unique_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) {
        return harness_failure(
            fmt::format("cannot sync {}: {}", folder.string(), std::generic_category().message(errno)));
    }
    return {};
}

} // namespace

struct journal_file::state {
    state(std::filesystem::path in, folder_lock held, std::unique_ptr<database> file)
        : folder(std::move(in)), lock(std::move(held)), journal(std::move(file)) {}

    static result<std::unique_ptr<state>> take_up(const std::filesystem::path& folder);
    result<void> prepare();
    result<void> open_session();
    result<void> write(std::span<const record> records);
    void checkpoint_when_due();

    std::filesystem::path folder;
    folder_lock lock;
    std::unique_ptr<database> journal;
    std::optional<writer> statements;
    std::uint64_t session = 0;
    int write_ahead_pages = 0;
    int checkpoint_due = checkpoint_pages;
    figures written;
};

result<void> journal_file::state::prepare() {
    for (const auto* setting : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA temp_store = MEMORY",
                                "PRAGMA cache_size = -16000", "PRAGMA wal_autocheckpoint = 0"}) {
        if (auto set = journal->execute(setting); !set) {
            return set;
        }
    }
    if (auto set = journal->execute(fmt::format("PRAGMA journal_size_limit = {}", write_ahead_limit)); !set) {
        return set;
    }
    if (auto migrated = migrate(*journal, migrations()); !migrated) {
        return migrated;
    }
    sqlite3_wal_hook(
        journal->handle(),
        [](void* self, sqlite3*, const char*, int pages) {
            static_cast<state*>(self)->write_ahead_pages = pages;
            return SQLITE_OK;
        },
        this);
    return {};
}

/// Its row is a transaction of its own, synced as each is; its number is durable when the folder is too.
result<void> journal_file::state::open_session() {
    auto insert = journal->prepare("INSERT INTO session (opened_ms, chalk_version, host, pid) VALUES (?, ?, ?, ?)");
    if (!insert) {
        return insert.error();
    }
    const auto host = to_valid_utf8(host_name());
    insert->bind(1, milliseconds_of(std::chrono::system_clock::now()));
    insert->bind(2, std::string_view(CHALK_VERSION));
    insert->bind(3, host);
    insert->bind(4, static_cast<std::int64_t>(::getpid()));
    if (auto inserted = insert->run(); !inserted) {
        return inserted;
    }
    const auto row = sqlite3_last_insert_rowid(journal->handle());
    session = static_cast<std::uint64_t>(row);
    auto made = writer::make(*journal, row);
    if (!made) {
        return made.error();
    }
    statements.emplace(std::move(*made));
    return sync_folder(folder);
}

result<void> journal_file::state::write(std::span<const record> records) {
    if (auto begun = statements->begin(); !begun) {
        return begun;
    }
    for (const auto& one : records) {
        if (auto written_one = statements->add(one); !written_one) {
            return written_one;
        }
    }
    return statements->commit();
}

/// After a batch and outside of it, so that a checkpoint that fails (a full disk) fails no batch: the next one tries it
/// again, and until then the write-ahead file holds what was confirmed.
void journal_file::state::checkpoint_when_due() {
    if (write_ahead_pages < checkpoint_due) {
        return;
    }
    int pages = write_ahead_pages;
    int copied = 0;
    if (sqlite3_wal_checkpoint_v2(journal->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied) ==
        SQLITE_OK) {
        ++written.checkpoints;
    }
    // A reader's snapshot keeps the file from starting over: then it grows by as much again before the next attempt.
    checkpoint_due = copied == pages ? checkpoint_pages : write_ahead_pages + checkpoint_pages;
}

journal_file::journal_file(std::unique_ptr<state> s) : state_(std::move(s)) {}
journal_file::journal_file(journal_file&&) noexcept = default;
journal_file& journal_file::operator=(journal_file&&) noexcept = default;
journal_file::~journal_file() = default;

result<journal_file> journal_file::create(const std::filesystem::path& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) {
        return config_failure(fmt::format("cannot make {}: {}", folder.string(), failed.message()));
    }
    auto lock = folder_lock::take(folder);
    if (!lock) {
        return lock.error();
    }
    auto journal = database::open(folder / journal_name, database::access::create);
    if (!journal) {
        return journal.error();
    }
    auto s = std::make_unique<state>(folder, std::move(*lock), std::move(*journal));
    if (auto prepared = s->prepare(); !prepared) {
        return prepared.error();
    }
    // A journal without its first record is that of a chalk that died at once: nothing is lost with it.
    auto sweeps = s->journal->query_integer("SELECT count(*) FROM sweep");
    if (!sweeps) {
        return sweeps.error();
    }
    if (*sweeps != 0) {
        return config_failure(fmt::format("{0} holds a sweep already: go on with it by `chalk sweep resume {0}`, or "
                                          "choose another --out",
                                          folder.string()));
    }
    if (auto opened = s->open_session(); !opened) {
        return opened.error();
    }
    return journal_file(std::move(s));
}

/// An existing journal, checked and of this chalk's schema; no session of it.
result<std::unique_ptr<journal_file::state>> journal_file::state::take_up(const std::filesystem::path& folder) {
    if (auto found = look_for_journal(folder); !found) {
        return found.error();
    }
    auto lock = folder_lock::take(folder);
    if (!lock) {
        return lock.error();
    }
    auto journal = database::open(folder / journal_name, database::access::write);
    if (!journal) {
        return journal.error();
    }
    if (auto checked = quick_check(**journal); !checked) {
        return checked.error();
    }
    auto s = std::make_unique<state>(folder, std::move(*lock), std::move(*journal));
    if (auto prepared = s->prepare(); !prepared) {
        return prepared.error();
    }
    return s;
}

result<journal_file> journal_file::resume(const std::filesystem::path& folder) {
    auto s = state::take_up(folder);
    if (!s) {
        return s.error();
    }
    if (auto opened = (*s)->open_session(); !opened) {
        return opened.error();
    }
    return journal_file(std::move(*s));
}

result<void> journal_file::bring_up_to_date(const std::filesystem::path& folder) {
    if (auto found = look_for_journal(folder); !found) {
        return found;
    }
    {
        auto looked_at = database::open(folder / journal_name, database::access::read);
        if (!looked_at) {
            return looked_at.error();
        }
        if (check_version(**looked_at, migrations())) {
            return {};
        }
    }
    auto s = state::take_up(folder);
    return s ? result<void>() : result<void>(s.error());
}

result<void> journal_file::append(std::span<const record> records) {
    state_->journal->note_trouble(trouble::none);
    if (auto done = state_->write(records); !done) {
        state_->statements->roll_back();
        return harness_failure("the journal took none of a batch: " + done.error().message);
    }
    ++state_->written.batches;
    state_->written.records += records.size();
    state_->checkpoint_when_due();
    return {};
}

std::uint64_t journal_file::session() const noexcept {
    return state_->session;
}

trouble journal_file::last_trouble() const noexcept {
    return state_->journal->last_trouble();
}

const journal_file::figures& journal_file::written() const noexcept {
    return state_->written;
}

const std::filesystem::path& journal_file::folder() const noexcept {
    return state_->folder;
}

} // namespace chalk::journal
