"""A sweep whose chalk is killed again and again, at a moment of each phase: at its end every run has exactly one outcome,
no run finished twice, the scores are those of an undisturbed sweep, and no token that a provider served is missing.

A few kills of a small sweep; with CHALK_TEST_LONG twenty kills of two thousand runs."""

import collections
import json
import os
import random
import signal
import sqlite3
import sys
import time

from support.chalk import SOURCE, ChalkTest, chalk, end, eventually, main, start
from support.sweep import export, ledger_sweep, rows_of

sys.path.insert(0, str(SOURCE / "tests/gateway"))
from provider import KEY, Answer, Provider, chat_stream  # noqa: E402

LONG = bool(os.environ.get("CHALK_TEST_LONG"))
RUNS, KILLS = (2000, 20) if LONG else (160, 6)
SERVED = 110  # tokens of one answer of the provider
MOST_OF_A_RUN = 1000


class Endless(Provider):
    """Answers every request alike, and counts what it served: the ledger outside chalk."""

    def __init__(self):
        super().__init__()
        self.served = 0
        self.default = self.serve

    def serve(self):
        self.served += SERVED  # under the provider's lock
        return Answer(pieces=chat_stream("done", usage=(90, 20)))


class KilledSweeps(ChalkTest):
    def setUp(self):
        super().setUp()
        self.ledger = self.folder / "ledger.txt"
        self.folder_of_sweep = self.folder / "sweep"

    def started(self, *arguments):
        process = start("sweep", *arguments, env={**os.environ, "OPENAI_COMPATIBLE_API_KEY": KEY})
        self.addCleanup(lambda: process.poll() is None and end(process))
        return process

    def ended(self):
        try:
            return rows_of(self.folder_of_sweep, "select count(*) from attempt where ended_ms is not null")[0][0]
        except sqlite3.OperationalError:
            return 0  # no journal yet, or one without tables

    def begun(self):
        """False while the journal does not know of the sweep: then there is nothing to resume, and it is begun anew."""
        try:
            return bool(rows_of(self.folder_of_sweep, "select 1 from sweep"))
        except sqlite3.OperationalError:
            return False

    def unrecorded(self):
        """Attempts whose transcript has its name while the journal does not have their end."""
        open_ = rows_of(self.folder_of_sweep, "select run_id, attempt from attempt where ended_ms is null")
        return [(run, attempt) for run, attempt in open_
                if (self.folder_of_sweep / f"runs/{run}/attempt-{attempt}/transcript.json").exists()]

    @staticmethod
    def state_folders(pids):
        base = "/run/chalk" if os.geteuid() == 0 else os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/tmp"), "chalk")
        return [name for name in (os.listdir(base) if os.path.isdir(base) else []) if name.split("-")[0] in pids]

    def kill_between_rename_and_commit(self, process):
        """Stops chalk to look; lets it go on until it stands between the two."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            os.kill(process.pid, signal.SIGSTOP)
            if self.ended() and self.unrecorded():
                os.kill(process.pid, signal.SIGKILL)
                process.communicate(timeout=30)
                return bool(self.unrecorded())
            os.kill(process.pid, signal.SIGCONT)
            time.sleep(random.uniform(0.001, 0.02))
        return False

    def test_every_run_has_one_outcome_however_often_chalk_is_killed(self):
        provider = Endless()
        self.addCleanup(provider.close)
        base = {
            "use_fake_model": False, "fake_model": {}, "model": "openai_compatible/m",
            "model_args": {"base_url": f"{provider.url}/v1"},
            "task_args": {"ledger": str(self.ledger)}, "limits": {"max_run_total_tokens": MOST_OF_A_RUN},
        }
        what = ledger_sweep(range(RUNS // 4), repeat=4, base=base, budget={"tokens": RUNS * 100 * MOST_OF_A_RUN})
        file = self.folder / "sweep.json"
        file.write_text(json.dumps(what))
        flags = ("--no-containerized",)
        fresh = ("--config", file, "--out", self.folder_of_sweep, *flags)
        process = self.started(*fresh)
        seen_between = 0
        killed = set()
        left_by_kills = set()
        for kill in range(KILLS):
            target = RUNS * (kill + 1) // (KILLS + 2)
            if kill == 0:
                eventually(lambda: (self.folder_of_sweep / "journal.sqlite").exists(), 60, "a journal")
            else:
                eventually(lambda: process.poll() is not None or self.ended() >= target, 300, f"{target} attempts ended")
            if process.poll() is not None:
                self.fail(f"the sweep was over before it could be killed: {process.communicate()[1][-2000:]}")
            if kill % 2 == 1:
                seen_between += self.kill_between_rename_and_commit(process)
            if process.poll() is None:
                time.sleep(random.uniform(0, 0.05))
                os.kill(process.pid, signal.SIGKILL)
                process.communicate(timeout=30)
            killed.add(str(process.pid))
            left_by_kills.update(self.state_folders(killed))
            process = self.started("resume", self.folder_of_sweep) if self.begun() else self.started(*fresh)
        out, err = process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 0, err[-3000:])
        self.assertTrue(left_by_kills, "a chalk that is killed leaves the sockets of its runs")
        self.assertEqual(self.state_folders(killed), [], "the next start removes them")
        self.assertGreater(seen_between, 0, "no kill fell between a transcript's rename and its journal commit")

        rows = export(self.folder_of_sweep)
        self.assertEqual(len(rows), RUNS)
        self.assertEqual(len({row["run_id"] for row in rows}), RUNS)
        ends = collections.Counter(line.split()[0] for line in self.ledger.read_text().splitlines() if " end " in line)
        self.assertEqual(set(ends), {row["run_id"] for row in rows}, "the ledger has an end of every run")
        scores = {line.split()[0]: line.split()[2] for line in self.ledger.read_text().splitlines() if " end " in line}
        for row in rows:
            self.assertIn(row["status"], ("passed", "failed"), row)
            self.assertEqual(repr(row["score"]), scores[row["run_id"]])
        counted = rows_of(self.folder_of_sweep, "select run, count(*) from attempt where verdict = 'counts' group by run having count(*) > 1")
        self.assertEqual(counted, [], "no run finished twice")
        tokens, = rows_of(self.folder_of_sweep, "select sum(charged_tokens) from attempt")[0]
        self.assertGreaterEqual(tokens, provider.served)

        undisturbed = self.folder / "undisturbed"
        quiet = {**what, "base": {**what["base"], "use_fake_model": True, "fake_model": {"script": [[{"text": "done"}]]},
                                  "task_args": {"item": 0}}, "budget": {}}
        file.write_text(json.dumps(quiet))
        chalk("sweep", "--config", file, "--out", undisturbed, *flags, check=0, timeout=1200)
        by_cell = {(row["cell"], row["repeat"]): row["score"] for row in export(undisturbed)}
        self.assertEqual(by_cell, {(row["cell"], row["repeat"]): row["score"] for row in rows})


if __name__ == "__main__":
    main()
