"""`chalk sweep status`, `export` and `diff` agree, to the last bit, with plain Python over the transcripts."""

import csv
import io
import json
import math
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import plain  # noqa: E402
from support.chalk import BUILD, ChalkTest, Failed, chalk, main, transcript  # noqa: E402

FIXTURE = BUILD / "chalk-journal-fixture"
NOTHING = {"input": 0, "cached": 0, "output": 0, "reasoning": 0}


class Journal:
    """A journal, written as a sweep would."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [str(FIXTURE), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        self.waiting = []

    def write(self, kind, **fields):
        self.waiting.append({kind: fields})

    def flush(self):
        if self.waiting:
            self.process.stdin.write(json.dumps(self.waiting) + "\n")
            self.process.stdin.flush()
            self.waiting = []
            if self.process.stdout.readline() != "ok\n":
                raise Failed(self.process.stderr.read())

    def close(self):
        self.flush()
        self.process.stdin.close()
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()
        if code != 0:
            raise Failed(f"the journal fixture ended with {code}")

    def kill(self):
        """Also one that has ended."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def document(run_id, attempt, status, kind, score, steps, tokens, usd):
    """A transcript, as small as the schema lets one be."""
    error = {"class": kind, "message": "made up", "details": ""} if status == "error" else None
    return {
        "format": "chalk-transcript", "version": 1,
        "run": {"run_id": run_id, "attempt": attempt, "environment": "e", "environment_digest": "", "task": "t",
                "agent": "builtin", "model": "m", "runtime": "none", "chalk_version": "0", "config": None},
        "outcome": {"status": status, "error": error, "reason": "told to" if status == "cancelled" else None},
        "score": score,
        "steps": [{"index": i, "name": "", "instructions": "", "score": s, "continue_task": True, "explanation": "",
                   "metadata": None, "student_misbehaved": False, "duration_ms": 1, "turns": 1, "tool_calls": 0,
                   "artifacts": []} for i, s in enumerate(steps)],
        "usage": tokens,
        "gateway": {"requests": 1, "retries": 0, "refused": 0, "estimated": 0, "usage": tokens, "usd": usd},
        "started": None, "ended": None, "duration_ms": None, "events": [],
    }


class Sweep:
    """A made-up sweep: its journal, its transcripts, and what only the journal knows (durations, verdicts)."""

    def __init__(self, folder, cells, repeats, seed, *, name="made up", model="x"):
        self.folder, self.cells, self.repeats = folder, cells, repeats
        self.random = random.Random(seed)
        self.took = {}      # by run: of the attempt that counts
        self.counted = {}   # by run: its transcript's path
        self.sealed = set()
        self.closed = {}    # by run without an outcome: why
        self.read = {}      # transcripts, by path
        folder.mkdir(parents=True)
        self.journal = Journal(folder)
        self.journal.write("sweep", name=name, seed=2**64 - 1, cells=cells, repeats=repeats,
                           document={"base": {"model": model, "limits": {"max_turns": 5}}, "repeat": repeats})

    def describe(self, cell, **more):
        self.journal.write("cell", number=cell, id=f"{cell:016x}", label=f"task={cell}", values={"task": str(cell)}, **more)

    def attempt(self, run, attempt, verdict, status, kind=None, score=None, priced=True):
        cell, repeat = divmod(run, self.repeats)
        run_id = f"s.{cell:016x}.{repeat}"
        where = f"runs/{run_id}/attempt-{attempt}/transcript.json"
        draw = self.random
        tokens = {"input": draw.randrange(2000), "cached": draw.randrange(100), "output": draw.randrange(500),
                  "reasoning": draw.randrange(50)}
        usd = draw.random() / 7 if priced else None
        steps = [] if score is None else [score * draw.random() for _ in range(draw.randrange(1, 4))]
        path = self.folder / where
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document(run_id, attempt, status, kind, score, steps, tokens, usd)))
        took = {s: draw.choice([None, draw.randrange(3000)]) for s in ("prepare", "setup", "agent", "score", "teardown")}
        took["whole"] = draw.randrange(20000)
        self.journal.write("start", run=run, cell=cell, repeat=repeat, id=run_id, attempt=attempt, seed=run,
                           reserved_tokens=5000, reserved_usd=0.5)
        self.journal.write("end", run=run, attempt=attempt, verdict=verdict, status=status, score=score, tokens=tokens,
                           usd=usd, step_scores=steps, took=took, transcript=where, **{"class": kind})
        if verdict in ("counts", "sealed"):
            self.took[run], self.counted[run] = took, path
            if verdict == "sealed":
                self.sealed.add(run)

    def transcripts(self):
        """All of them, each held against the schema once."""
        for path in sorted(self.folder.glob("runs/*/attempt-*/transcript.json")):
            if path not in self.read:
                self.read[path] = transcript(path)
        return self.read

    def requeue(self, run):
        self.journal.write("requeue", run=run, message="again")
        del self.counted[run], self.took[run]

    def close(self, run, why):
        self.journal.write("close", run=run, why=why)
        self.closed[run] = why

    def fill(self):
        """Everything that may become of a run."""
        draw = self.random
        for cell in range(self.cells):
            if cell % 7 == 6:
                continue  # nobody came to it
            self.describe(cell)
            for repeat in range(self.repeats):
                run, attempt, fate = cell * self.repeats + repeat, 1, draw.random()
                while draw.random() < 0.15:
                    kind = draw.choice(["model", "sandbox"])
                    self.attempt(run, attempt, "retried", "error", kind)
                    attempt += 1
                if draw.random() < 0.05:
                    self.attempt(run, attempt, "lost", "error", "node_lost")
                    attempt += 1
                if fate < 0.6:
                    self.attempt(run, attempt, "counts", "passed", score=draw.random(), priced=draw.random() < 0.95)
                elif fate < 0.8:
                    self.attempt(run, attempt, "counts", "failed", score=draw.random() * 0.1)
                elif fate < 0.87:
                    self.attempt(run, attempt, "counts", "error", draw.choice(["task", "harness", "timeout"]))
                elif fate < 0.9:
                    self.attempt(run, attempt, "sealed", "error", "timeout")
                elif fate < 0.92:
                    self.attempt(run, attempt, "counts", "cancelled")
                elif fate < 0.96:
                    self.close(run, draw.choice(["first_pass", "cancelled", "breaker", "budget", "sealed", "deadline"]))
                elif attempt == 1:
                    continue  # not started
        # Two finished runs go again; one of them is not done yet.
        done = [run for run in self.counted if run not in self.sealed]
        for run, again in ((done[0], True), (done[-1], False)):
            last = int(self.counted[run].parent.name.split("-")[1])
            self.requeue(run)
            if again:
                self.attempt(run, last + 1, "counts", "passed", score=draw.random())


def expected(sweep, only_cell=None):
    """The figures, from the transcripts and the sweep's own knowledge."""
    runs = [r for r in range(sweep.cells * sweep.repeats) if only_cell in (None, r // sweep.repeats)]
    by_cell, by_class, standings = {}, {}, dict.fromkeys(
        ("passed", "failed", "error", "cancelled", "sealed", "first_pass", "stopped", "unfinished", "not_started"), 0)
    spent, usd, unpriced, attempts = dict(NOTHING), [], 0, 0
    touched = set()
    for found in sweep.transcripts().values():
        _, cell, repeat = found["run"]["run_id"].split(".")
        if only_cell in (None, int(cell, 16)):
            touched.add(int(cell, 16) * sweep.repeats + int(repeat))
            attempts += 1
            for kind in spent:
                spent[kind] += found["gateway"]["usage"][kind]
            if found["gateway"]["usd"] is None:
                unpriced += 1
            else:
                usd.append(found["gateway"]["usd"])
    took = []
    for run in runs:
        cell = by_cell.setdefault(run // sweep.repeats, {"scores": [], "judged": 0, "passed": 0})
        if run in sweep.counted:
            found = sweep.transcripts()[sweep.counted[run]]
            took.append(sweep.took[run])
            status = "sealed" if run in sweep.sealed else found["outcome"]["status"]
            if status == "error":
                kind = found["outcome"]["error"]["class"]
                by_class[kind] = by_class.get(kind, 0) + 1
            if status in ("passed", "failed"):
                cell["scores"].append(found["score"])
                cell["judged"] += 1
                cell["passed"] += status == "passed"
        elif run in sweep.closed:
            why = sweep.closed[run]
            status = why if why in ("first_pass", "cancelled", "sealed") else "stopped"
        else:
            status = "unfinished" if run in touched else "not_started"
        standings[status] += 1
    scores = [s for c in by_cell.values() for s in c["scores"]]
    judged, passed = (sum(c[k] for c in by_cell.values()) for k in ("judged", "passed"))
    if only_cell is None:
        score_interval = plain.clustered_interval([c["scores"] for c in by_cell.values()])
        pass_interval = plain.clustered_interval(
            [[1.0] * c["passed"] + [0.0] * (c["judged"] - c["passed"]) for c in by_cell.values()])
        pass_interval["low"], pass_interval["high"] = max(0.0, pass_interval["low"]), min(1.0, pass_interval["high"])
    else:
        score_interval, pass_interval = plain.mean_interval(scores), plain.wilson(passed, judged)
    return {
        "runs": {"total": len(runs), **standings},
        "by_class": by_class,
        "attempts": attempts,
        "score": {"mean": plain.mean(scores), "runs": len(scores), "interval": score_interval},
        "pass_rate": {"rate": passed / judged if judged else None, "runs": judged, "interval": pass_interval},
        "pass": plain.pass_figures([(c["judged"], c["passed"]) for c in by_cell.values()], sweep.repeats),
        "spent": {"tokens": spent, "usd": math.fsum(usd), "unpriced_attempts": unpriced},
        "stages": plain.stages(took),
    }


class Results(ChalkTest):
    def sweep(self, name, **options):
        sweep = Sweep(self.folder / name, **options)
        self.addCleanup(lambda: sweep.journal.kill())
        return sweep

    def status(self, sweep):
        return json.loads(self.text("status", sweep, "--json"))

    def text(self, command, *arguments):
        """What `chalk sweep COMMAND` prints; a sweep stands for its folder."""
        for one in arguments:
            if isinstance(one, Sweep) and one.journal.process.poll() is None:
                one.journal.flush()
        return chalk("sweep", command, *(getattr(one, "folder", one) for one in arguments), check=0).stdout

    def rows(self, sweep, *flags):
        lines = self.text("export", sweep, "--format", "jsonl", *flags).split("\n")
        self.assertEqual(lines.pop(), "")
        return [json.loads(line) for line in lines]

    def compare(self, figures, truth):
        runs = dict(figures["runs"])
        by_class = {kind: n for kind, n in runs.pop("errors_by_class").items() if n}
        self.assertEqual(runs, truth["runs"])
        self.assertEqual(by_class, truth["by_class"])
        self.assertEqual(figures["attempts"]["ended"], truth["attempts"])
        # Equal floats, not close ones; and each is there as a float of the same digits.
        for key in ("score", "pass_rate", "pass", "stages"):
            self.assertEqual(figures[key], truth[key], key)
        self.assertEqual(repr(figures["score"]["mean"]), repr(truth["score"]["mean"]))
        for key, value in truth["spent"].items():
            self.assertEqual(figures["spent"][key], value, key)

    def test_status_is_what_the_transcripts_add_up_to(self):
        sweep = self.sweep("a", cells=23, repeats=6, seed=1)
        sweep.fill()
        status = self.status(sweep)
        self.assertEqual(status["sweep"]["state"], "running")
        self.assertIn(f"process {sweep.journal.process.pid}", status["sweep"]["runner"])
        self.assertEqual(status["sweep"]["seed"], 2**64 - 1)
        truth = expected(sweep)
        self.assertTrue(all(truth["runs"].values()), f"the sweep lacks a standing: {truth['runs']}")
        self.compare(status["figures"], truth)
        self.assertEqual([c["number"] for c in status["cells"]], [c for c in range(23) if c % 7 != 6])
        for cell in status["cells"]:
            with self.subTest(cell=cell["number"]):
                self.compare(cell["figures"], expected(sweep, cell["number"]))
        warnings = " / ".join(status["figures"]["warnings"])
        for part in ("ended in an error", "seal_at", "biased upward", "cancelled", "stop rule", "not finished yet",
                     "fewer than k", "without a known price"):
            self.assertIn(part, warnings)

    def test_export_has_a_row_a_run_and_says_which_attempt_counts(self):
        sweep = self.sweep("a", cells=9, repeats=5, seed=2)
        sweep.fill()
        truth = expected(sweep)
        rows = self.rows(sweep)
        numbers = [row["run"] for row in rows]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(len(rows), truth["runs"]["total"] - truth["runs"]["not_started"])
        for row in rows:
            if row["run"] in sweep.counted:
                found = sweep.transcripts()[sweep.counted[row["run"]]]
                self.assertEqual(sweep.folder / row["transcript"], sweep.counted[row["run"]])
                self.assertEqual(
                    (row["run_id"], row["attempt"], row["status"], row["score"], row["usd"], row["input_tokens"]),
                    (found["run"]["run_id"], found["run"]["attempt"], found["outcome"]["status"], found["score"],
                     found["gateway"]["usd"], found["gateway"]["usage"]["input"]))
                self.assertEqual(row["step_scores"], [step["score"] for step in found["steps"]])
                self.assertTrue(row["counts"])
            else:
                self.assertFalse(row["counts"])
                self.assertIsNone(row["attempt"])
        scores = [row["score"] for row in rows if row["standing"] in ("passed", "failed")]
        self.assertEqual(math.fsum(scores) / len(scores), truth["score"]["mean"])

        every = [row for row in self.rows(sweep, "--all-attempts") if row["attempt"]]
        self.assertEqual(len(every), truth["attempts"])
        self.assertEqual(sum(row["output_tokens"] for row in every), truth["spent"]["tokens"]["output"])
        self.assertEqual(math.fsum(row["usd"] for row in every if row["usd"] is not None), truth["spent"]["usd"])
        counting = {(row["run"], row["attempt"]) for row in every if row["counts"]}
        self.assertEqual(counting, {(row["run"], row["attempt"]) for row in rows if row["counts"]})
        requeued = [row for row in every if row["verdict"] == "counts" and not row["counts"]]
        self.assertEqual(len(requeued), 2, "the first outcomes of the requeued runs are history")

        out = self.folder / "rows.csv"
        self.text("export", sweep, "--format", "csv", "--out", out)
        with out.open(newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(len(table), len(rows))
        for got, row in zip(table, rows):
            self.assertEqual(list(got), list(row))
            for column, value in row.items():
                text = ("" if value is None else value if isinstance(value, str) else
                        json.dumps(value, separators=(",", ":")))
                if isinstance(value, float):
                    self.assertEqual(float(got[column]), value)
                elif column == "step_scores" and value:
                    self.assertEqual(json.loads(got[column]), value)
                else:
                    self.assertEqual(got[column], text, column)
        self.assertEqual([p.name for p in self.folder.glob("*.partial")], [])

    def test_text_of_an_error_survives_both_formats(self):
        sweep = self.sweep("a", cells=1, repeats=1, seed=3)
        sweep.journal.write("cell", number=0, id="0" * 16, label="red \x1b[31m label", values={})
        message = 'a "quoted", long\nmessage \u00fc\u2028 \x1b[31m'
        sweep.journal.write("start", run=0, cell=0, repeat=0, id="r")
        sweep.journal.write("end", run=0, status="error", message=message, verdict="counts", tokens=NOTHING, usd=0,
                            **{"class": "task"})
        self.assertEqual(self.rows(sweep)[0]["message"], message)
        text = self.text("export", sweep, "--format", "csv")
        self.assertEqual(next(csv.DictReader(io.StringIO(text, newline="")))["message"], message)
        page = self.text("status", sweep)
        self.assertIn("red ", page)
        self.assertNotIn("\x1b", page)

    def test_what_was_reserved_for_a_killed_attempt_is_said_apart(self):
        sweep = self.sweep("a", cells=1, repeats=2, seed=4)
        sweep.describe(0)
        noted = {"input": 100, "cached": 0, "output": 20, "reasoning": 0}
        sweep.journal.write("start", run=0, cell=0, repeat=0, id="r", reserved_tokens=1000, reserved_usd=0.5)
        sweep.journal.write("note", run=0, tokens=noted, usd=0.25)
        self.assertEqual(self.status(sweep)["figures"]["spent"]["usd"], 0.25, "an open attempt's notes count")
        sweep.journal.write("end", run=0, status="cancelled", verdict="lost", tokens=noted, usd=0.25, charged_tokens=1000,
                            charged_usd=0.5)
        spent = self.status(sweep)["figures"]["spent"]
        self.assertEqual((spent["unsettled_tokens"], spent["unsettled_usd"]), (880, 0.25))

    def test_late_results_are_counted_and_change_no_figure(self):
        sweep = self.sweep("a", cells=1, repeats=2, seed=9)
        sweep.describe(0)
        token = {"token_epoch": 1, "token_count": 7}
        sweep.journal.write("start", run=0, cell=0, repeat=0, id="r", node="n1", **token)
        sweep.journal.write("end", run=0, status="error", verdict="lost", tokens=NOTHING, usd=0, **{"class": "node_lost"})
        sweep.journal.write("start", run=0, cell=0, repeat=0, id="r", attempt=2, node="n2", token_epoch=1, token_count=8)
        sweep.journal.write("end", run=0, attempt=2, status="failed", score=0.25, verdict="counts", tokens=NOTHING, usd=0)
        before, rows = self.status(sweep), self.rows(sweep, "--all-attempts")
        self.assertEqual(before["sweep"]["late_results"], 0)
        for score in (1.0, 0.5):  # the second one is the same result, offered again
            sweep.journal.write("evidence", run=0, node="n1", status="passed", score=score, usd=0.5,
                                tokens={"input": 5, "cached": 0, "output": 5, "reasoning": 0}, **token)
        after = self.status(sweep)
        self.assertEqual(after["sweep"]["late_results"], 1)
        self.assertEqual((after["figures"], after["cells"]), (before["figures"], before["cells"]))
        self.assertEqual(self.rows(sweep, "--all-attempts"), rows)

    def test_states_are_told_apart(self):
        sweep = self.sweep("a", cells=1, repeats=1, seed=5)
        self.assertEqual(self.status(sweep)["sweep"]["state"], "running")
        sweep.journal.kill()
        self.assertEqual(self.status(sweep)["sweep"]["state"], "interrupted")
        self.assertIn("chalk sweep resume", self.text("status", sweep))
        sweep.journal = Journal(sweep.folder)
        sweep.journal.write("ended", complete=False, message="told to stop")
        sweep.journal.close()
        self.assertEqual(self.status(sweep)["sweep"]["state"], "stopped")
        self.assertIn("told to stop", self.text("status", sweep))
        sweep.journal = Journal(sweep.folder)
        sweep.journal.write("ended", complete=True)
        sweep.journal.close()
        status = self.status(sweep)["sweep"]
        self.assertEqual((status["state"], status["sessions"]), ("complete", 3))

    def test_diff_is_the_textbook_s_cell_by_cell(self):
        a = self.sweep("a", cells=8, repeats=5, seed=6)
        b = self.sweep("b", cells=9, repeats=5, seed=7, model="y")
        for sweep in (a, b):
            for cell in range(sweep.cells):
                sweep.describe(cell, config_digest=f"sha256:{sweep.folder.name}" if cell == 3 else "")
                for repeat in range(5):
                    score = sweep.random.random()
                    sweep.attempt(cell * 5 + repeat, 1, "counts", "passed" if score > 0.4 else "failed", score=score)
        diff = json.loads(self.text("diff", a, b, "--json"))
        self.assertEqual([(k["key"], k["a"], k["b"]) for k in diff["configs"]], [("base.model", "x", "y")])
        self.assertEqual([c["label"] for c in diff["only_in_b"]], ["task=8"])
        self.assertEqual(diff["only_in_a"], [])
        self.assertEqual([c["differs"] for c in diff["cells"]], [["config"] if c == 3 else [] for c in range(8)])
        differences = []
        for cell in diff["cells"]:
            scores, passed = [], []
            for sweep in (a, b):
                found = [json.loads(p.read_text()) for p in sorted(sweep.folder.glob(f"runs/s.{cell['id']}.*/*/*.json"))]
                scores.append([f["score"] for f in found])
                passed.append(sum(f["outcome"]["status"] == "passed" for f in found))
            means = [plain.mean(s) for s in scores]
            differences.append(means[1] - means[0])
            self.assertEqual(cell["score"], {"a": means[0], "b": means[1], "difference": means[1] - means[0],
                                             "interval": plain.welch(*scores)})
            self.assertEqual(cell["pass_rate"], {
                "a": passed[0] / 5, "b": passed[1] / 5, "difference": passed[1] / 5 - passed[0] / 5,
                "interval": plain.newcombe(passed[0], 5, passed[1], 5)})
        overall = diff["overall"]["score"]
        self.assertEqual(overall["cells"], 8)
        self.assertEqual(overall["difference"], plain.mean(differences))
        self.assertEqual(overall["interval"], {**plain.mean_interval(differences), "method": "student_t_paired"})
        page = self.text("diff", a, b)
        self.assertIn('base.model: "x" -> "y"', page)
        self.assertIn("only in b: task=8", page)

    def test_a_folder_without_a_sweep_and_a_damaged_journal_are_clear_errors(self):
        for command in (["status", self.folder], ["export", self.folder], ["diff", self.folder, self.folder]):
            refused = chalk("sweep", *command, check=2)
            self.assertIn("there is no sweep in", refused.stderr)
            self.assertEqual(refused.stdout, "")
        sweep = self.sweep("a", cells=1, repeats=200, seed=8)
        sweep.describe(0)
        for run in range(200):
            sweep.attempt(run, 1, "counts", "passed", score=1.0)
        sweep.journal.close()
        journal = sweep.folder / "journal.sqlite"
        content = bytearray(journal.read_bytes())
        page = content.index(b"s.0000000000000000.150") // 4096 * 4096
        content[page:page + 4096] = b"\x5a" * 4096
        journal.write_bytes(content)
        out = self.folder / "rows.jsonl"
        refused = chalk("sweep", "export", sweep.folder, "--out", out, check=1)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertTrue(0 < len(rows) <= 150, len(rows))
        self.assertEqual([row["run"] for row in rows], list(range(len(rows))))
        self.assertIn("damaged", refused.stderr)
        self.assertIn(f"only those: the first {len(rows)} rows", refused.stderr)
        self.assertIn(f"{sweep.folder}/runs/", refused.stderr)
        self.assertNotIn("chalk sweep export " + str(sweep.folder), refused.stderr, "it was just tried")
        written = chalk("sweep", "export", f"{sweep.folder}/", "--format", "csv", check=1)
        self.assertEqual(len(list(csv.DictReader(io.StringIO(written.stdout)))), len(rows))
        self.assertNotIn("`chalk sweep export", written.stderr)
        self.assertIn("damaged", chalk("sweep", "status", sweep.folder, check=1).stderr)
        taken_up = subprocess.run([str(FIXTURE), str(sweep.folder)], capture_output=True, text=True, input="")
        self.assertEqual(taken_up.returncode, 1)
        self.assertIn("chalk sweep export", taken_up.stderr)


if __name__ == "__main__":
    main()
