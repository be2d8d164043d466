"""What the tests of sweeps share: the ledger environment's sweeps, and how their folders are read."""

import hashlib
import json
import pathlib
import sqlite3

from support.chalk import SOURCE, chalk

LEDGER = SOURCE / "tests/environments/ledger"


def ledger_sweep(items, repeat=1, name="ledger", latency_ms=0, base=None, **keys):
    """A sweep file over `items` of the ledger environment; its student says one thing."""
    task_args = {"item": 0, **(base or {}).pop("task_args", {})}
    return {
        "name": name,
        "base": {
            "environment": str(LEDGER), "task": "ledger", "use_fake_model": True, "task_args": task_args,
            "fake_model": {"script": [[{"text": "anything"}]], "latency_ms": latency_ms},
            **(base or {}),
        },
        "axes": {"task_args.item": list(items)},
        "repeat": repeat,
        **keys,
    }


def export(folder, *flags):
    """The rows of `chalk sweep export`."""
    result = chalk("sweep", "export", folder, "--format", "jsonl", *flags, check=0)
    return [json.loads(line) for line in result.stdout.splitlines()]


def rows_of(folder, query):
    """A query of the journal, beside whoever writes it."""
    uri = f"file:{pathlib.Path(folder) / 'journal.sqlite'}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=30)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def ledger_score(row):
    """What the ledger environment gives the run of an exported row, whatever became of it."""
    text = f"{row['values']['task_args.item']} {row['seed']}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def ended(folder):
    """How many attempts have ended; 0 while there is no journal that could be asked."""
    try:
        return rows_of(folder, "select count(*) from attempt where ended_ms is not null")[0][0]
    except sqlite3.OperationalError:
        return 0
