/// A journal as a chalk of schema 1 left it, by that schema's own text: what the migrations of later ones are tested
/// with. It is history and never changes.
#pragma once

namespace chalk::test {

inline constexpr auto schema_1_tables = R"sql(
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
)sql";

/// A sweep of two cells and two repeats that was killed. Run 0 passed at its second attempt, after its node was lost;
/// run 1 was closed, queued again and never started since; run 2 is open, with a note and a reservation. Run 3 is left.
inline constexpr auto schema_1_rows = R"sql(
INSERT INTO session VALUES (1, 1800000000000, '0.1.0', 'box', 100), (2, 1800000100000, '0.1.0', 'box', 200);
INSERT INTO sweep VALUES (1, 1, 1800000000000, 'an old sweep', -16, 'name = "an old sweep"', 'sha256:00',
    '{"name":"an old sweep"}', '', 2, 2, 4);
INSERT INTO cell VALUES (0, '0000000000000000', 'task=0', '{"task":"0"}', 'sha256:01', 'sha256:02', ''),
    (1, '0000000000000001', 'task=1', '{"task":"1"}', 'sha256:01', 'sha256:02', '');
INSERT INTO attempt VALUES
    (0, 1, 0, 0, 's.0.0', 1, 'local', 1800000001000, 7, 0, 0, 10, 0, 5, 0, 0.25, 1800000002000, 'lost', 'error',
        'node_lost', 'gone', NULL, '[]', 15, 0.25, 3, NULL, NULL, NULL, NULL, 30, ''),
    (0, 2, 0, 0, 's.0.0', 1, 'local', 1800000003000, 7, 0, 0, 100, 20, 50, 5, NULL, 1800000004000, 'counts', 'passed',
        NULL, '', 0.75, '[0.5,null,1]', 150, 0, 3, 4, 5, 6, 7, 30, 'runs/s.0.0/attempt-2/transcript.json'),
    (2, 1, 1, 0, 's.1.0', 2, 'local', 1800000101000, 9, 1000, 0.5, 70, 0, 30, 0, 0.125, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO closed VALUES (0, 1800000004000, 2, NULL, '');
INSERT INTO requeue VALUES (1, 1, 1800000102000, 'ctl', 0, 1800000005000, NULL, 'cancelled', 'by hand');
INSERT INTO ending VALUES (1, 1, 1800000050000, 0, 'interrupted');
)sql";

/// The marks of such a file.
inline constexpr auto schema_1_marks = "PRAGMA application_id = 0x63686c6b; PRAGMA user_version = 1";

} // namespace chalk::test
