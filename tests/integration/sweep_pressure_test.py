"""A sweep whose machine runs short of something while it runs: a disk, its inodes, descriptors, processes, time. It starts
nothing until there is more, or ends with a message that names what was short; what is there in the end is exactly one
outcome for each run, with the score that it would have had anyway.

The disks are small images on loop devices, the limits are those of one chalk and its own cgroup: nothing else on the
machine is short of anything. CHALK_TEST_LONG stops chalk for a minute instead of some seconds."""

import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import time

from support.chalk import (
    BUILD, ChalkTest, Failed, Speaking, chalk, chalk_cgroups, descendants, eventually, main, needs_root, start, transcript,
)
from support.sweep import ended, export, ledger_score, ledger_sweep, rows_of

LONG = bool(os.environ.get("CHALK_TEST_LONG"))
STOPPED_S = 60 if LONG else 6
SANDBOXES = ("--runtime", "namespaces", "--memory", "256MiB", "--disk", "64MiB")
MIB = 1 << 20


class Pressure(ChalkTest):
    def begin(self, what, *flags, **options):
        file = self.folder / f"{what['name']}.json"
        file.write_text(json.dumps(what))
        return self.speaking("--config", file, "--out", self.sweep, *flags, **options)

    def speaking(self, *arguments, **options):
        speaking = Speaking(start("sweep", *arguments, **options))
        self.addCleanup(speaking.close)
        return speaking

    def wait_for(self, speaking, condition, seconds, what):
        def holds():
            if speaking.process.poll() is not None and not condition():
                raise Failed(f"chalk ended with {speaking.finish()} before {what}; it said\n{speaking.text()[-3000:]}")
            return condition()

        try:
            eventually(holds, seconds, what)
        except Failed as error:
            raise Failed(f"{error}; chalk said\n{speaking.text()[-3000:]}") from None

    def resume(self, *flags, check=0):
        return chalk("sweep", "resume", self.sweep, *flags, check=check, timeout=240)

    def check_waits(self, speaking, runs, count=None):
        """What was under way ends; then nothing goes on while nothing was freed. `count` says how many have ended."""
        count = count or (lambda: ended(self.sweep))
        stood_still = time.monotonic()
        held = count()
        until = stood_still + 60
        while time.monotonic() - stood_still < 3:
            time.sleep(0.2)
            now = count()
            if now != held:
                held, stood_still = now, time.monotonic()
            self.assertLess(time.monotonic(), until, "runs go on\n" + speaking.text())
        self.assertIsNone(speaking.process.poll(), speaking.text())
        self.assertLess(held, runs, speaking.text())

    def check_whole(self, runs):
        """Exactly one outcome for each run, and the right one."""
        rows = export(self.sweep)
        self.assertEqual(len(rows), runs)
        self.assertEqual(len({row["run_id"] for row in rows}), runs)
        for row in rows:
            self.assertIn(row["status"], ("passed", "failed"), row)
            self.assertEqual(row["score"], ledger_score(row))
            self.assertEqual(transcript(self.sweep / row["transcript"])["score"], row["score"])
        twice = rows_of(self.sweep, "select run, count(*) from attempt where verdict = 'counts' and not exists (select 1 "
                                    "from requeue where requeue.run = attempt.run and closed_attempt = attempt.attempt) "
                                    "group by run having count(*) > 1")
        self.assertEqual(twice, [], "no run counts twice")
        self.assertEqual(rows_of(self.sweep, "select 1 from attempt where ended_ms is null"), [])
        self.assertEqual(list(self.sweep.rglob("*.tmp")), [], "no half-written file is left")
        return rows


@needs_root
class Disks(Pressure):
    """`--out` is an image of its own."""

    def disk(self, size, *options):
        image, self.mounted = self.folder / "image", self.folder / "mounted"
        self.mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(size)
        made = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if not made:
            self.skipTest("no mkfs.ext4: install e2fsprogs")
        subprocess.run([made, "-q", "-F", "-m", "0", *options, image], check=True, capture_output=True)
        mounted = subprocess.run(["mount", "-o", "loop", image, self.mounted], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no loop device can be mounted: {mounted.stderr.strip()}")
        self.addCleanup(self.unmount)
        self.sweep = self.mounted / "sweep"

    def unmount(self):
        """The loop device goes with it. What a killed chalk's children hold open is let go of within a moment."""
        def gone():
            return subprocess.run(["umount", self.mounted], capture_output=True).returncode == 0

        eventually(gone, 10, "the image is unmounted")

    def fill(self, leave=0):
        """A file of another program's, over all that is free but `leave` bytes."""
        with (self.mounted / "ballast").open("wb", buffering=0) as file:
            try:
                left = os.statvfs(self.mounted)
                left = left.f_bavail * left.f_frsize - leave
                while left > 0:
                    left -= file.write(bytes(min(left, MIB)))
            except OSError:
                pass

    def fill_inodes(self, leave):
        folder = self.mounted / "many"
        folder.mkdir()
        try:
            for number in range(os.statvfs(self.mounted).f_favail - leave):
                (folder / str(number)).touch()
        except OSError:
            pass

    def wait_until_paused(self, speaking, seconds=60):
        self.wait_for(speaking, lambda: "no run starts until there is more" in speaking.text()
                      or "nothing starts and no outcome counts" in speaking.text(), seconds, "it says that it waits")

    def big_sweep(self, runs):
        """Transcripts of about 2 MiB each."""
        return ledger_sweep(range(runs), base={"fake_model": {"script": [[{"text": "x" * MIB}]]}})

    def test_a_disk_that_its_own_transcripts_fill_pauses_the_sweep_which_goes_on_when_there_is_room(self):
        self.disk(160 * MIB)
        self.fill(leave=45 * MIB)
        speaking = self.begin(self.big_sweep(40), "--no-containerized")
        self.wait_until_paused(speaking)
        self.check_waits(speaking, 40)
        (self.mounted / "ballast").unlink()
        self.assertEqual(speaking.finish(), 0, speaking.text())
        self.check_whole(40)

    def test_a_disk_that_another_program_fills_holds_the_sweep_and_after_ctrl_c_a_resume_finishes_it(self):
        self.disk(64 * MIB)
        speaking = self.begin(ledger_sweep(range(40), base={"task_args": {"work_s": 0.1}}), "--no-containerized")
        self.wait_for(speaking, lambda: ended(self.sweep) >= 4, 60, "four have ended")
        self.fill()
        self.wait_until_paused(speaking)
        self.check_waits(speaking, 40)
        speaking.process.send_signal(signal.SIGINT)
        self.assertEqual(speaking.finish(60), 130, speaking.text())
        self.assertIn("chalk sweep resume", speaking.text())
        (self.mounted / "ballast").unlink()
        self.resume()
        self.check_whole(40)

    def test_a_resume_on_a_full_disk_is_refused_with_its_cause_and_harms_nothing(self):
        self.disk(64 * MIB)
        speaking = self.begin(ledger_sweep(range(30), base={"task_args": {"work_s": 0.1}}), "--no-containerized")
        self.wait_for(speaking, lambda: ended(self.sweep) >= 4, 60, "four have ended")
        speaking.process.kill()
        speaking.finish(30)
        self.fill()
        refused = chalk("sweep", "resume", self.sweep)
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertRegex(refused.stderr, "bytes of disk.*free some of what is short")
        (self.mounted / "ballast").unlink()
        self.resume()
        self.check_whole(30)

    def test_inodes_that_run_out_pause_the_sweep_which_goes_on_when_there_are_more(self):
        self.disk(64 * MIB, "-N", "1024")
        self.fill_inodes(leave=100)
        speaking = self.begin(ledger_sweep(range(60)), "--no-containerized")
        self.wait_until_paused(speaking)
        self.assertIn("inodes", speaking.text())
        self.check_waits(speaking, 60)
        shutil.rmtree(self.mounted / "many")
        self.assertEqual(speaking.finish(), 0, speaking.text())
        self.check_whole(60)

    def test_many_runs_of_one_config_wait_for_room_as_a_sweep_does(self):
        self.disk(64 * MIB)
        config = ledger_sweep([0], base={"task_args": {"work_s": 0.1}})["base"]
        out = self.mounted / "out"
        speaking = Speaking(start("run", "--config", json.dumps(config), "--no-containerized", "-n", "60",
                                  "--max-concurrent", "2", "--out", out / "run.json"))
        self.addCleanup(speaking.close)

        def written():
            return len(list(out.glob("run_*.json")))

        self.wait_for(speaking, lambda: written() >= 4, 60, "four have ended")
        self.fill()
        self.wait_for(speaking, lambda: "no run starts until there is more" in speaking.text(), 60, "it says that it waits")
        self.check_waits(speaking, 60, written)
        (self.mounted / "ballast").unlink()
        # What was under way when the disk was full may be an error, and is not tried again.
        self.assertIn(speaking.finish(), (0, 1), speaking.text())
        self.assertIn("there is enough room again", speaking.text())
        self.assertGreaterEqual(written(), 50)


@needs_root
class Limits(Pressure):
    """What a process or its cgroup may have."""

    RUNS = 12

    def setUp(self):
        super().setUp()
        self.sweep = self.folder / "sweep"
        self.before = chalk_cgroups()

    def check_no_leftovers(self, speaking):
        self.assertEqual(descendants(speaking.process.pid), [])
        eventually(lambda: chalk_cgroups() <= self.before, 10, "no cgroup of a run is left")
        self.assertEqual(json.loads(chalk("gc", "--dry-run", "--json", check=0).stdout)["leftovers"], [])

    def exhaust(self, limit, cause, **options):
        """Takes away what chalk has of something while it runs: it pauses, says why, and goes on when it has it again.
        `limit(pid)` returns how to undo it."""
        # No attempt and no error to spare: what met the shortage first is charged to nobody.
        what = ledger_sweep(range(self.RUNS), base={"task_args": {"work_s": 0.3}}, retry={"max_attempts": 1},
                            stop={"max_errors": 1})
        speaking = self.begin(what, *SANDBOXES, "--max-concurrent", "2", **options)
        self.wait_for(speaking, lambda: ended(self.sweep) >= 3, 60, "three have ended")
        restore = limit(speaking.process.pid)
        try:
            self.wait_for(speaking, lambda: "no run starts until there is more" in speaking.text(), 60, "it says so")
            self.assertRegex(speaking.text(), f"{cause}.*: no run starts until there is more")
            self.check_waits(speaking, self.RUNS)
        finally:
            restore()
        self.assertEqual(speaking.finish(), 0, speaking.text())
        self.check_whole(self.RUNS)
        self.assertEqual(rows_of(self.sweep, "select run, class from attempt where verdict = 'retried'"), [])
        self.check_no_leftovers(speaking)

    def take_descriptors(self, pid):
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, most))  # what is open stays so
        return lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))

    def test_descriptors_that_run_out_pause_the_sweep_which_goes_on_when_there_are_more(self):
        self.exhaust(self.take_descriptors, "Too many open files")

    def test_few_descriptors_let_in_few_runs_and_too_few_are_refused_with_their_name(self):
        def at_most(files):
            return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        what = ledger_sweep(range(self.RUNS))
        speaking = self.begin(what, *SANDBOXES, preexec_fn=at_most(135))
        self.assertEqual(speaking.finish(60), 3, speaking.text())
        self.assertIn("open files", speaking.text())
        speaking = self.begin(what, *SANDBOXES, preexec_fn=at_most(165))
        self.assertEqual(speaking.finish(), 0, speaking.text())
        self.check_whole(self.RUNS)

    def group(self):
        group = pathlib.Path("/sys/fs/cgroup/pids")
        if not group.is_dir():
            group = pathlib.Path("/sys/fs/cgroup")
        group /= f"chalk_test_pids_{os.getpid()}"
        try:
            group.mkdir()
            self.addCleanup(self.remove_group, group)
            (group / "pids.max").read_text()
        except OSError as error:
            self.skipTest(f"no pids cgroup can be made: {error}")
        return group

    def remove_group(self, group):
        eventually(lambda: not (group / "cgroup.procs").read_text(), 10, "the test's cgroup is empty")
        for inner in sorted(group.rglob("*"), reverse=True):
            if inner.is_dir():
                inner.rmdir()
        group.rmdir()

    def test_few_processes_let_in_few_runs_and_too_few_are_refused_with_their_name(self):
        group = self.group()

        def join():
            (group / "cgroup.procs").write_text(str(os.getpid()))

        what = ledger_sweep(range(self.RUNS))
        (group / "pids.max").write_text("1000")
        speaking = self.begin(what, *SANDBOXES, preexec_fn=join)
        self.assertEqual(speaking.finish(60), 3, speaking.text())
        self.assertIn("processes", speaking.text())
        (group / "pids.max").write_text("2600")
        plan = chalk("sweep", "--config", self.folder / "ledger.json", "--out", self.sweep, *SANDBOXES, "--dry-run", "--json",
                     preexec_fn=join, check=0)
        self.assertEqual(json.loads(plan.stdout)["admission"]["at_once"], 2)
        speaking = self.begin(what, *SANDBOXES, preexec_fn=join)
        self.assertEqual(speaking.finish(), 0, speaking.text())
        self.check_whole(self.RUNS)

    def test_processes_that_run_out_pause_the_sweep_which_goes_on_when_there_are_more(self):
        group = self.group()

        def take_processes(_):
            (group / "pids.max").write_text("1")
            return lambda: (group / "pids.max").write_text("max")

        self.exhaust(take_processes, "Resource temporarily unavailable",
                     preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))


class Clocks(Pressure):
    def setUp(self):
        super().setUp()
        self.sweep = self.folder / "sweep"

    def test_a_chalk_that_is_stopped_for_a_while_goes_on_as_if_it_had_not_been(self):
        """What its runs did meanwhile counts; no deadline passes for the time in which nobody could look."""
        limit = STOPPED_S / 2
        what = ledger_sweep(range(30), base={"task_args": {"work_s": 0.2}}, retry={"max_attempts": 1},
                            deadlines={"setup_s": limit, "agent_s": limit, "score_s": limit, "teardown_s": limit})
        flags = SANDBOXES if os.geteuid() == 0 else ("--no-containerized",)
        speaking = self.begin(what, *flags, "--max-concurrent", "4")
        self.wait_for(speaking, lambda: ended(self.sweep) >= 5, 60, "five have ended")
        speaking.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        speaking.process.send_signal(signal.SIGCONT)
        self.assertEqual(speaking.finish(), 0, speaking.text())
        for row in self.check_whole(30):
            self.assertEqual(row["attempt"], 1)

    def test_a_wall_clock_that_jumps_moves_no_deadline_and_no_duration(self):
        shifter = BUILD / "libchalk_clock_shift.so"
        if not shifter.exists():
            self.skipTest(f"{shifter} is not built")
        shift = self.folder / "shift"
        shift.write_bytes(struct.pack("q", 0))
        day = 24 * 3600
        limit = 30
        what = ledger_sweep(range(30), base={"task_args": {"work_s": 0.2}, "limits": {"max_time_s": limit}},
                            retry={"max_attempts": 1},
                            deadlines={"setup_s": limit, "agent_s": limit, "score_s": limit, "run_s": 2 * limit,
                                       "sweep_s": 600})
        began = time.monotonic()
        # A sanitizer's runtime wants to be the first library otherwise.
        sanitizer = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"
        speaking = self.begin(what, "--no-containerized", "--max-concurrent", "4", env={
            **os.environ, "LD_PRELOAD": str(shifter), "CHALK_TEST_CLOCK_SHIFT": str(shift), "ASAN_OPTIONS": sanitizer})
        for count, seconds in ((3, day), (8, -day), (13, 365 * day), (18, 0), (23, -3600)):
            self.wait_for(speaking, lambda: ended(self.sweep) >= count, 60, f"{count} have ended")
            with shift.open("r+b", buffering=0) as file:
                file.write(struct.pack("q", seconds))
        self.assertEqual(speaking.finish(), 0, speaking.text())
        took_ms = (time.monotonic() - began) * 1000
        rows = self.check_whole(30)
        days = {row["ended"][:10] for row in rows}
        self.assertGreater(len(days), 2, "the clock did jump")
        for row in rows:
            self.assertEqual(row["attempt"], 1)
            for stage in ("prepare", "setup", "agent", "score", "teardown", "whole"):
                self.assertTrue(0 <= row[f"{stage}_ms"] <= took_ms, row)
            for step in transcript(self.sweep / row["transcript"])["steps"]:
                self.assertTrue(0 <= step["duration_ms"] <= took_ms, row["run_id"])


if __name__ == "__main__":
    main()
