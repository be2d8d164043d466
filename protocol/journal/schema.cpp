#include "protocol/journal/schema.hpp"

#include <fmt/format.h>

#include <array>

namespace chalk::journal {

namespace {

// Names rather than numbers for what is an enumeration in C++: a journal is read by people and other tools too. Times
// are milliseconds since 1970 in UTC.
result<void> make_first_tables(database& journal) {
    return journal.execute(R"sql(
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    opened_ms INTEGER NOT NULL,
    chalk_version TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL
);
CREATE TABLE sweep (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    session INTEGER NOT NULL,
    opened_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    seed INTEGER NOT NULL,
    file_text TEXT NOT NULL,
    file_digest TEXT NOT NULL,
    document TEXT NOT NULL,
    prices_digest TEXT NOT NULL,
    repeats INTEGER NOT NULL,
    cells INTEGER NOT NULL,
    total_runs INTEGER NOT NULL
);
CREATE TABLE cell (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    axis_values TEXT NOT NULL,
    config_digest TEXT NOT NULL,
    environment_digest TEXT NOT NULL,
    image_digest TEXT NOT NULL
);
CREATE TABLE attempt (
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    cell INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    session INTEGER NOT NULL,
    node TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    reserved_usd REAL NOT NULL,
    input INTEGER NOT NULL DEFAULT 0,
    cached INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    reasoning INTEGER NOT NULL DEFAULT 0,
    usd REAL DEFAULT 0,
    ended_ms INTEGER,
    verdict TEXT,
    status TEXT,
    class TEXT,
    message TEXT,
    score REAL,
    step_scores TEXT,
    charged_tokens INTEGER,
    charged_usd REAL,
    prepare_ms INTEGER,
    setup_ms INTEGER,
    agent_ms INTEGER,
    score_ms INTEGER,
    teardown_ms INTEGER,
    whole_ms INTEGER,
    transcript TEXT,
    PRIMARY KEY (run, attempt)
) WITHOUT ROWID;
-- What a resume looks at: small, since an attempt that counts leaves it.
CREATE INDEX attempt_pending ON attempt (run, attempt) WHERE verdict IS NULL OR verdict IN ('retried', 'lost');
-- One row a closed run: that a run is closed once is this table's primary key.
CREATE TABLE closed (
    run INTEGER PRIMARY KEY,
    closed_ms INTEGER NOT NULL,
    attempt INTEGER,
    why TEXT,
    message TEXT NOT NULL
);
CREATE TABLE requeue (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    requeued_ms INTEGER NOT NULL,
    message TEXT NOT NULL,
    last_attempt INTEGER NOT NULL,
    closed_ms INTEGER NOT NULL,
    closed_attempt INTEGER,
    closed_why TEXT,
    closed_message TEXT NOT NULL
);
CREATE INDEX requeue_run ON requeue (run);
CREATE TABLE ending (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    message TEXT NOT NULL
);
)sql");
}

/// What a cluster adds: leases, the token of each assignment, and results that came too late. An attempt of an older
/// journal was assigned to no node: zeros.
result<void> add_cluster_tables(database& journal) {
    return journal.execute(R"sql(
ALTER TABLE attempt ADD COLUMN token_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN token_count INTEGER NOT NULL DEFAULT 0;
CREATE TABLE lease (
    epoch INTEGER NOT NULL,
    count INTEGER NOT NULL,
    node TEXT NOT NULL,
    length_ms INTEGER NOT NULL,
    granted_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    PRIMARY KEY (epoch, count)
) WITHOUT ROWID;
-- What a coordinator starts from, and that a node holds one lease at most.
CREATE UNIQUE INDEX lease_open ON lease (node) WHERE ended_ms IS NULL;
CREATE TABLE evidence (
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    token_epoch INTEGER NOT NULL,
    token_count INTEGER NOT NULL,
    node TEXT NOT NULL,
    kept_ms INTEGER NOT NULL,
    status TEXT NOT NULL,
    class TEXT,
    message TEXT NOT NULL,
    score REAL,
    input INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    output INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    usd REAL,
    transcript TEXT NOT NULL,
    PRIMARY KEY (run, attempt, token_epoch, token_count)
) WITHOUT ROWID;
)sql");
}

constexpr std::array<migration, 2> all_migrations = {make_first_tables, add_cluster_tables};

/// The file's version; error_class::config when the file is somebody else's.
result<std::int64_t> version_of(database& journal) {
    auto mark = journal.query_integer("PRAGMA application_id");
    if (!mark) {
        return mark.error();
    }
    auto version = journal.query_integer("PRAGMA user_version");
    if (!version) {
        return version.error();
    }
    auto tables = journal.query_integer("SELECT count(*) FROM sqlite_schema");
    if (!tables) {
        return tables.error();
    }
    if (*mark != application_id && (*mark != 0 || *version != 0 || *tables != 0)) {
        return config_failure(fmt::format("{} is a database of another program", journal.file().string()));
    }
    return *version;
}

failure newer(const database& journal, std::int64_t version, std::size_t known) {
    return config_failure(
        fmt::format("{} was written by a newer chalk (schema {}, this chalk knows up to {}): use that "
                    "chalk or a newer one",
                    journal.file().string(), version, known));
}

} // namespace

std::span<const migration> migrations() noexcept {
    return all_migrations;
}

result<void> migrate(database& journal, std::span<const migration> steps) {
    auto version = version_of(journal);
    if (!version) {
        return version.error();
    }
    const auto known = static_cast<std::int64_t>(steps.size());
    if (*version > known) {
        return newer(journal, *version, steps.size());
    }
    if (*version == known) {
        return {};
    }
    if (auto begun = journal.execute("BEGIN IMMEDIATE"); !begun) {
        return begun;
    }
    result<void> done;
    for (auto next = static_cast<std::size_t>(*version); done && next < steps.size(); ++next) {
        done = steps[next](journal);
    }
    if (done) {
        done = journal.execute(
            fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", application_id, known));
    }
    if (!done) {
        // The failure is what counts; without it a rollback would have nothing to undo.
        (void)journal.execute("ROLLBACK");
    }
    return done;
}

result<void> check_version(database& journal, std::span<const migration> steps) {
    auto version = version_of(journal);
    if (!version) {
        return version.error();
    }
    const auto known = static_cast<std::int64_t>(steps.size());
    if (*version > known) {
        return newer(journal, *version, steps.size());
    }
    if (*version == 0) {
        return config_failure(
            fmt::format("{} has no tables yet: its sweep was never started", journal.file().string()));
    }
    if (*version < known) {
        return config_failure(fmt::format("{} was written by an older chalk (schema {}, now {}): `chalk sweep resume` "
                                          "brings it up to date",
                                          journal.file().string(), *version, known));
    }
    return {};
}

result<void> quick_check(database& journal) {
    auto query = journal.prepare("PRAGMA quick_check(1)");
    if (!query) {
        return query.error();
    }
    auto row = query->step();
    if (!row) {
        return row.error();
    }
    if (*row && query->text(0) == "ok") {
        return {};
    }
    return damaged(journal.file(), query->text(0));
}

} // namespace chalk::journal
