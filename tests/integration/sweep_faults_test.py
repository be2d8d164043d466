"""A sweep in sandboxes of which a share meets a fault each: every run ends in the class of its own fault, the scores of the
others are those of an undisturbed sweep, nothing is left, and a requeue heals those whose cause is gone by then.

5 % of the sandboxes cannot start, 5 % of the harnesses are killed, 2 % of the judges hang, 1 % of the transcripts cannot be
written. Which run meets what follows from its id; no part of chalk knows."""

import collections
import hashlib
import json
import os
import pathlib
import signal
import subprocess

from support.chalk import (
    ChalkTest, Speaking, chalk, chalk_cgroups, descendants, eventually, main, needs_root, processes_of_run, start,
    transcript,
)
from support.sweep import export, ledger_sweep

RUNS = 100
SHARES = {"sandbox": 5, "harness": 5, "judge": 2, "transcript": 1}
# What a hung judge is given; the others score within a fraction of it.
SCORE_S = 10
SANDBOXES = ("--runtime", "namespaces", "--memory", "256MiB", "--disk", "64MiB")
CLASS_OF = {"sandbox": "sandbox", "harness": "harness", "judge": "timeout", "transcript": "harness"}


def cell_of(item):
    """As docs/reference/sweep-file.md says."""
    return hashlib.sha256(f'{{"task_args.item":{item}}}'.encode()).hexdigest()[:16]


def run_of(item):
    return f"faults.{cell_of(item)}.0"


def deal():
    """{fault: items}: the runs in the order of their ids, each fault taking its share."""
    items = sorted(range(RUNS), key=run_of)
    return {fault: [items.pop() for _ in range(share)] for fault, share in SHARES.items()}


def mounts():
    return [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]


@needs_root
class Faults(ChalkTest):
    def mount(self, folder, options):
        folder.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "chalk-test", folder], check=True, capture_output=True)
        self.addCleanup(self.unmount, folder)

    def unmount(self, folder):
        if str(folder) in mounts():
            subprocess.run(["umount", folder], check=True)

    def put_in_the_way(self, faults):
        """Before the sweep: the artifacts folder of some runs is read-only, so that it cannot be lent to a sandbox; the
        folder of another's attempt is a disk without room."""
        places = []
        for item in faults["sandbox"]:
            places.append(self.sweep / "runs" / run_of(item) / "attempt-1/transcript_artifacts")
            self.mount(places[-1], "ro,size=64k")
        for item in faults["transcript"]:
            places.append(self.sweep / "runs" / run_of(item) / "attempt-1")
            self.mount(places[-1], "size=64k")
            (places[-1] / "filler").write_bytes(bytes(64 << 10))
        return places

    def kill_harnesses(self, process, items):
        """Each one that waits, once; until all are dead or chalk is."""
        left = set(items)

        def killed_all():
            for item in sorted(left):
                found = processes_of_run(run_of(item))
                harness = [p for p in found if p.command.startswith("/chalk/chalk run ")]
                if harness and any("chalk.host" in p.command for p in found):
                    os.kill(harness[0].pid, signal.SIGKILL)
                    left.discard(item)
            return not left or process.poll() is not None

        eventually(killed_all, 120, "every harness that is to die waits")
        self.assertEqual(left, set(), "chalk ended before all were killed")

    def test_every_run_ends_in_the_class_of_its_fault_and_the_others_score_as_ever(self):
        self.sweep = self.folder / "sweep"
        faults = deal()
        cgroups, mounted = chalk_cgroups(), sorted(mounts())
        places = self.put_in_the_way(faults)
        what = ledger_sweep(range(RUNS), name="faults", retry={"max_attempts": 1}, deadlines={"score_s": SCORE_S},
                            base={"task_args": {"faults": {"hang": faults["judge"], "wait": faults["harness"]}}})
        file = self.folder / "faults.json"
        file.write_text(json.dumps(what))
        speaking = Speaking(start("sweep", "--config", file, "--out", self.sweep, *SANDBOXES))
        self.addCleanup(speaking.close)
        self.kill_harnesses(speaking.process, faults["harness"])
        self.assertEqual(speaking.finish(), 1, speaking.text())

        fault_of = {run_of(item): fault for fault, items in faults.items() for item in items}
        rows = {row["run_id"]: row for row in export(self.sweep)}
        self.assertEqual(set(rows), {run_of(item) for item in range(RUNS)})
        for run, row in rows.items():
            with self.subTest(run=run, fault=fault_of.get(run)):
                self.check_end(row, fault_of.get(run))
        seen = collections.Counter(row["error_class"] for row in rows.values() if row["status"] == "error")
        self.assertEqual(seen, {"sandbox": 5, "harness": 6, "timeout": 2})

        for place in places:
            self.unmount(place)
        self.assertEqual(descendants(speaking.process.pid), [])
        eventually(lambda: chalk_cgroups() <= cgroups, 10, "no cgroup of a run is left")
        self.assertEqual([p for run in rows for p in processes_of_run(run)], [])
        self.assertEqual(sorted(mounts()), mounted)
        self.assertEqual(list(self.sweep.rglob("*.tmp")), [], "no half-written file is left")
        self.assertEqual(json.loads(chalk("gc", "--dry-run", "--json", check=0).stdout)["leftovers"], [])

        self.check_healed({run: row["score"] for run, row in rows.items() if run not in fault_of}, fault_of)

    def check_end(self, row, fault):
        if fault is None:
            self.assertIn(row["status"], ("passed", "failed"), row)
        else:
            self.assertEqual((row["status"], row["error_class"]), ("error", CLASS_OF[fault]), row)
            self.assertIsNone(row["score"], "an error is no score")
        said = {"judge": "scoring", "transcript": "No space left on device", "sandbox": "transcript_artifacts",
                "harness": "signal 9"}
        self.assertIn(said.get(fault, ""), row["message"] or "")
        if fault == "transcript":
            self.assertFalse(row["transcript"])
            return
        document = transcript(self.sweep / row["transcript"])
        self.assertEqual(document["run"]["run_id"], row["run_id"])
        self.assertEqual(document["outcome"]["status"], row["status"])
        self.assertEqual(document["score"], row["score"])

    def check_healed(self, untouched, fault_of):
        """The same sweep without faults, and this one after those runs were taken back whose cause is gone: a harness that
        waits and a judge that hangs would do so again."""
        quiet = ledger_sweep(range(RUNS), name="faults")
        file = self.folder / "quiet.json"
        file.write_text(json.dumps(quiet))
        chalk("sweep", "--config", file, "--out", self.folder / "quiet", "--no-containerized", check=0, timeout=240)
        scores = {row["run_id"]: row["score"] for row in export(self.folder / "quiet")}
        self.assertEqual(untouched, {run: scores[run] for run in untouched})

        again = [run for run, fault in fault_of.items() if fault in ("sandbox", "transcript")]
        chalk("sweep", "resume", self.sweep, *(word for run in again for word in ("--requeue", run)), check=1)
        healed = {row["run_id"]: row for row in export(self.sweep)}
        for run in again:
            self.assertEqual((healed[run]["attempt"], healed[run]["score"]), (2, scores[run]), healed[run])
        self.assertEqual({run: healed[run]["score"] for run in untouched}, untouched)


if __name__ == "__main__":
    main()
