"""`chalk sweep` as a user meets it: a matrix runs, is watched, steered, resumed, exported and compared."""

import contextlib
import json
import signal
import sqlite3

from support.chalk import ChalkTest, chalk, end, eventually, main, needs_root, start, transcript
from support.sweep import export, ledger_sweep, rows_of


class Sweeps(ChalkTest):
    def sweep(self, what, *flags, folder="sweep", check=0, **options):
        path = self.folder / f"{what['name']}.json"
        path.write_text(json.dumps(what))
        return chalk("sweep", "--config", path, "--out", self.folder / folder, *flags, check=check, **options)

    def local(self, what, *flags, **options):
        return self.sweep(what, "--no-containerized", *flags, **options)

    def begin(self, what, *flags, folder="sweep"):
        path = self.folder / f"{what['name']}.json"
        path.write_text(json.dumps(what))
        process = start("sweep", "--config", path, "--out", self.folder / folder, "--no-containerized", *flags)
        self.addCleanup(lambda: process.poll() is None and end(process))
        return process

    def ctl(self, *arguments, check=0):
        return chalk("sweep", "ctl", self.folder / "sweep", *arguments, check=check)

    def ended(self, folder="sweep"):
        return len(rows_of(self.folder / folder, "select 1 from attempt where ended_ms is not null"))

    @needs_root
    def test_a_sweep_in_sandboxes_has_an_outcome_a_transcript_and_equal_figures_for_each_run(self):
        self.sweep(ledger_sweep(range(3), repeat=2), "--runtime", "namespaces", "--memory", "256MiB", "--disk", "64MiB")
        rows = export(self.folder / "sweep")
        self.assertEqual(len(rows), 6)
        for row in rows:
            document = transcript(self.folder / "sweep" / row["transcript"])
            self.assertEqual(document["run"]["run_id"], row["run_id"])
            self.assertEqual(document["score"], row["score"])

    def test_repeats_of_a_cell_differ_by_their_seed_and_a_second_sweep_scores_the_same(self):
        self.local(ledger_sweep(range(2), repeat=3), folder="a")
        self.local(ledger_sweep(range(2), repeat=3), folder="b")
        scores = [{row["run_id"]: row["score"] for row in export(self.folder / name)} for name in ("a", "b")]
        self.assertEqual(scores[0], scores[1])
        self.assertEqual(len(set(scores[0].values())), 6)

    def test_a_dry_run_of_ten_million_cells_says_what_would_run_and_starts_nothing(self):
        what = ledger_sweep(range(1000))
        what["axes"]["task_args.work_s"] = [0.0]
        what["axes"]["limits.max_turns"] = list(range(1, 10_001))
        result = self.local(what, "--dry-run", "--json", timeout=60)
        plan = json.loads(result.stdout)
        self.assertEqual(plan["runs"], 10_000_000)
        self.assertGreater(plan["admission"]["at_once"], 0)
        self.assertFalse((self.folder / "sweep").exists())

    def test_a_second_sweep_on_the_same_folder_is_refused_while_one_runs_and_after(self):
        process = self.begin(ledger_sweep(range(2), base={"task_args": {"work_s": 3600.0}}))
        eventually(lambda: (self.folder / "sweep/control.sock").exists(), 60, "the sweep runs")
        again = self.local(ledger_sweep(range(2), name="other"), check=2)
        self.assertIn("sweep", again.stderr)
        resumed = chalk("sweep", "resume", self.folder / "sweep", check=2)
        self.assertIn(str(process.pid), resumed.stderr)
        self.ctl("cancel")
        process.communicate(timeout=60)
        self.assertIn("resume", self.local(ledger_sweep(range(2), name="other"), check=2).stderr)

    def test_errors_are_tried_again_as_the_file_says_and_the_last_one_counts(self):
        what = ledger_sweep(range(3), base={"task_args": {"faults": {"raise": [1]}}},
                            retry={"max_attempts": 3, "on": ["task"], "backoff_s": 0.01})
        self.local(what, check=1)
        attempts = export(self.folder / "sweep", "--all-attempts")
        of_1 = [row for row in attempts if row["values"] == {"task_args.item": 1}]
        self.assertEqual([row["attempt"] for row in of_1], [1, 2, 3])
        self.assertEqual([row["counts"] for row in of_1], [False, False, True])
        for row in of_1:
            self.assertTrue((self.folder / "sweep" / row["transcript"]).exists(), "attempts are kept")

    def test_pause_holds_concurrency_widens_and_requeue_keeps_the_first_outcome_as_history(self):
        process = self.begin(ledger_sweep(range(40), base={"task_args": {"work_s": 0.2}}), "--max-concurrent", "2")
        eventually(lambda: (self.folder / "sweep/control.sock").exists() and self.ended() >= 2, 60, "two have ended")
        self.assertIn("paused", self.ctl("pause").stdout)
        eventually(lambda: json.loads(self.ctl("status").stdout)["under_way"] == 0, 60, "what was under way ended")
        held = self.ended()
        self.assertEqual(json.loads(self.ctl("status").stdout)["state"], "paused")
        first = export(self.folder / "sweep")[0]["run_id"]
        self.assertIn("1 runs", self.ctl("requeue", first).stdout)
        self.assertIn("no run", self.ctl("requeue", "nobody", check=2).stderr)
        self.assertEqual(self.ended(), held)
        self.ctl("concurrency", "8")
        self.ctl("resume")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err[-3000:])
        history = [row for row in export(self.folder / "sweep", "--all-attempts") if row["run_id"] == first]
        self.assertEqual([(row["attempt"], row["counts"]) for row in history], [(1, False), (2, True)])
        self.assertIn("no sweep is running", self.ctl("pause", check=2).stderr)
        self.assertIn("there is no sweep in", chalk("sweep", "ctl", self.folder, "pause", check=2).stderr)
        self.assertIn("0", self.ctl("concurrency", "-1", check=2).stderr)
        self.assertIn("chalk sweep ctl --help", self.ctl("stop", check=2).stderr)

    def test_ctrl_c_ends_it_in_order_and_resume_runs_what_is_missing(self):
        process = self.begin(ledger_sweep(range(30), base={"task_args": {"work_s": 0.3}}), "--max-concurrent", "3")
        eventually(lambda: (self.folder / "sweep/control.sock").exists() and self.ended() >= 3, 60, "three have ended")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        before = {row["run_id"]: row["score"] for row in export(self.folder / "sweep") if row["status"] in ("passed", "failed")}
        self.assertTrue(before)
        chalk("sweep", "resume", self.folder / "sweep", check=0)
        rows = export(self.folder / "sweep")
        self.assertEqual(len(rows), 30)
        self.assertTrue(all(row["status"] in ("passed", "failed") for row in rows))
        for row in rows:
            if row["run_id"] in before:
                self.assertEqual((row["attempt"], row["score"]), (1, before[row["run_id"]]))

    def test_a_wedged_judge_is_bounded_by_its_own_deadline_and_seal_at_cuts_stragglers_off(self):
        wedged = ledger_sweep(range(3), base={"task_args": {"faults": {"hang": [1]}}}, deadlines={"score_s": 1},
                              retry={"max_attempts": 1})
        self.local(wedged, check=1, folder="wedged")
        by_status = {row["status"]: row for row in export(self.folder / "wedged")}
        self.assertEqual(by_status["error"]["error_class"], "timeout")
        self.assertIn("scoring", by_status["error"]["message"])
        sealed = ledger_sweep(range(10), name="sealed", base={"task_args": {"faults": {"hang": [3]}}}, seal_at=0.9)
        self.local(sealed, check=1, folder="sealed")
        cut = [row for row in export(self.folder / "sealed") if row["status"] == "error"]
        self.assertEqual([row["error_class"] for row in cut], ["timeout"])

    def test_stop_rules_and_breakers_say_why(self):
        faulty = ledger_sweep(range(20), base={"task_args": {"faults": {"raise": list(range(20))}}}, stop={"max_errors": 2},
                              retry={"max_attempts": 1})
        result = self.local(faulty, "--max-concurrent", "1", check=1)
        self.assertIn("max_errors", result.stderr)
        ended = [row for row in export(self.folder / "sweep") if row["counts"]]
        self.assertLess(len(ended), 20)
        one_cell = ledger_sweep([0, 1], repeat=10, name="cell", base={"task_args": {"faults": {"raise": [0]}}},
                                breaker={"max_errors": 3}, retry={"max_attempts": 1})
        result = self.local(one_cell, "--max-concurrent", "1", check=1, folder="cell")
        self.assertIn("breaker", result.stderr)
        rows = export(self.folder / "cell")
        self.assertEqual(sum(row["status"] == "error" for row in rows), 3)
        self.assertEqual(sum(row["status"] in ("passed", "failed") for row in rows), 10)

    def test_what_first_pass_leaves_out_is_said_and_a_resume_leaves_it_out_too(self):
        what = ledger_sweep(range(3), repeat=8, stop={"first_pass": True})
        self.local(what, "--max-concurrent", "1")
        folder = self.folder / "sweep"

        def status():
            return json.loads(chalk("sweep", "status", folder, "--json", check=0).stdout)

        def check():
            said = status()
            runs = said["figures"]["runs"]
            self.assertEqual(said["sweep"]["state"], "complete")
            self.assertEqual(runs["passed"] + runs["failed"] + runs["first_pass"], 24, runs)
            self.assertGreater(runs["first_pass"], 0)
            self.assertTrue(any("had passed" in line for line in said["figures"]["warnings"]), said["figures"]["warnings"])
            return runs

        runs = check()
        chalk("sweep", "resume", folder, check=0)
        self.assertEqual(check(), runs)
        rows = export(folder)
        self.assertEqual(len(rows), 24)
        left_out = next(row for row in rows if row["standing"] == "first_pass" and row["attempts"])
        self.assertEqual(left_out["closed_why"], "first_pass")
        run_id = f"ledger.{left_out['cell_id']}.{left_out['repeat']}"
        chalk("sweep", "resume", folder, "--requeue", run_id, check=0)
        again = next(row for row in export(folder) if row["run"] == left_out["run"])
        self.assertIn(again["standing"], ("passed", "failed"))
        self.assertEqual(status()["figures"]["runs"]["first_pass"], runs["first_pass"] - 1)

    def test_a_refused_resume_leaves_no_trace(self):
        self.local(ledger_sweep(range(2)))
        folder = self.folder / "sweep"
        before = chalk("sweep", "status", folder, "--json", check=0).stdout
        refused = chalk("sweep", "resume", folder, "--requeue", "nobody", check=2)
        self.assertIn("nobody", refused.stderr)
        self.assertEqual(chalk("sweep", "status", folder, "--json", check=0).stdout, before)

    def test_a_resume_takes_up_the_journal_of_an_older_chalk(self):
        self.local(ledger_sweep(range(2)))
        folder = self.folder / "sweep"
        before = export(folder)
        with contextlib.closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
            journal.executescript("DROP TABLE evidence; DROP TABLE lease; ALTER TABLE attempt DROP COLUMN token_epoch; "
                                  "ALTER TABLE attempt DROP COLUMN token_count; PRAGMA user_version = 1")
        self.assertIn("chalk sweep resume", chalk("sweep", "status", folder, check=2).stderr)
        self.assertIn("older chalk", chalk("sweep", "resume", folder, "--dry-run", check=2).stderr)
        self.assertEqual(rows_of(folder, "pragma user_version"), [(1,)])
        chalk("sweep", "resume", folder, check=0)
        self.assertEqual(export(folder), before)

    def test_a_dry_resume_says_how_much_is_left(self):
        self.local(ledger_sweep(range(2), repeat=2))
        folder = self.folder / "sweep"
        done = export(folder)[0]["run_id"]
        plan = json.loads(chalk("sweep", "resume", folder, "--dry-run", "--json", check=0).stdout)
        self.assertEqual((plan["runs"], plan["runs_left"]), (4, 0))
        self.assertEqual(plan["disk_bytes_at_once"], 0)
        said = chalk("sweep", "resume", folder, "--dry-run", "--requeue", done, check=0).stdout
        self.assertIn("1 of them are left to run", said)
        self.assertIn("nobody", chalk("sweep", "resume", folder, "--dry-run", "--requeue", "nobody", check=2).stderr)

    def test_bad_files_are_refused_with_their_place(self):
        for change, expected in (({"axis": {}}, "axes"), ({"repeat": 0}, "repeat"), ({"axes": {"modle": ["x"]}}, "model"),
                                 ({"retry": {"on": ["sandbx"]}}, "sandbox"), ({"seal_at": 2}, "seal_at")):
            what = {**ledger_sweep([0]), **change}
            result = self.local(what, check=2)
            self.assertIn(expected, result.stderr)
            self.assertFalse((self.folder / "sweep").exists())


if __name__ == "__main__":
    main()
