"""run_as_student: who the program is, what it sees, and that nothing of it survives."""

import os
import shutil
import tempfile
import time
import unittest

from chalk import run_as_student
from chalk import _paths

IS_ROOT = os.geteuid() == 0


def alive(marker):
    """Processes with `marker` in their command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(name))
    return found


class RunAsStudent(unittest.TestCase):
    def setUp(self):
        self.workdir = tempfile.mkdtemp(prefix="chalk_test_student_")
        os.chmod(self.workdir, 0o777)
        self.addCleanup(shutil.rmtree, self.workdir)
        before = _paths.STUDENT_WORKDIR
        _paths.configure({"workdir": self.workdir})
        self.addCleanup(_paths.configure, {"workdir": before})

    def test_output_streams_and_exit_code_come_back(self):
        done = run_as_student(["sh", "-c", "cat; echo oops >&2; exit 3"], input="hello")
        self.assertEqual((done.exit_code, done.stdout, done.stderr, done.ok), (3, "hello", "oops\n", False))

    def test_the_program_runs_in_the_workdir_with_a_clean_environment(self):
        os.environ["CHALK_TEST_SECRET"] = "1"
        self.addCleanup(os.environ.pop, "CHALK_TEST_SECRET")
        done = run_as_student(["sh", "-c", "pwd; env"], env={"EXTRA": "yes"})
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], self.workdir)
        self.assertIn("HOME=" + self.workdir, lines)
        self.assertIn("EXTRA=yes", lines)
        self.assertNotIn("CHALK_TEST_SECRET=1", lines)

    @unittest.skipUnless(IS_ROOT, "only root can become another user")
    def test_the_program_is_the_student_without_groups_or_a_way_back(self):
        done = run_as_student(["sh", "-c", "grep -E '^(Uid|Gid|Groups|CapEff)' /proc/self/status"])
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(
            lines, [["Uid:"] + ["1000"] * 4, ["Gid:"] + ["1000"] * 4, ["Groups:"], ["CapEff:", "0" * 16]]
        )

    def test_no_descriptor_of_the_host_is_inherited(self):
        null = os.open("/dev/null", os.O_RDONLY)
        leak = os.dup2(null, 77, inheritable=True)
        os.close(null)
        self.addCleanup(os.close, leak)
        done = run_as_student(["sh", "-c", "ls /proc/$$/fd"])
        self.assertIn("0", done.stdout.split())
        self.assertNotIn("77", done.stdout.split())

    def test_output_beyond_the_cap_is_dropped_and_counted(self):
        done = run_as_student(["sh", "-c", "head -c 3000000 /dev/zero"], output_cap=1000)
        self.assertEqual((done.exit_code, len(done.stdout_bytes), done.omitted_bytes), (0, 1000, 2999000))

    def test_a_program_that_ignores_sigterm_ends_at_the_deadline(self):
        started = time.monotonic()
        done = run_as_student(["sh", "-c", "trap '' TERM INT HUP; echo up; sleep 600"], timeout=0.5)
        self.assertTrue(done.timed_out)
        self.assertEqual((done.exit_code, done.stdout), (-9, "up\n"))
        self.assertLess(time.monotonic() - started, 10)

    def test_what_double_forked_and_changed_its_session_is_killed_as_well(self):
        marker = "600.%d01" % os.getpid()
        script = "setsid sh -c 'setsid sleep %s & setsid sleep %s & sleep 0.2' & wait; echo ready" % (marker, marker)
        done = run_as_student(["sh", "-c", script], timeout=20)
        self.assertEqual((done.exit_code, done.stdout, done.timed_out), (0, "ready\n", False))
        self.assertEqual(alive(marker), [])

    @unittest.skipUnless(IS_ROOT, "RLIMIT_NPROC counts a user's other processes")
    def test_a_fork_bomb_is_killed_as_a_whole(self):
        marker = "chalk_bomb_%d" % os.getpid()
        bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n"
        done = run_as_student(["/usr/bin/python3", "-S", "-c", bomb, marker], timeout=1, processes=60)
        self.assertTrue(done.timed_out)
        self.assertEqual(alive(marker), [])

    def test_closed_streams_do_not_end_the_wait_early_or_never(self):
        done = run_as_student(["sh", "-c", "exec >&- 2>&- <&-; sleep 0.2; exit 4"], timeout=20)
        self.assertEqual((done.exit_code, done.timed_out), (4, False))

    def test_a_program_that_reads_none_of_a_large_input_is_no_error(self):
        done = run_as_student(["true"], input=b"x" * 5_000_000)
        self.assertEqual((done.exit_code, done.timed_out), (0, False))

    def test_a_large_input_arrives_as_a_whole(self):
        done = run_as_student(["wc", "-c"], input=b"x" * 5_000_000)
        self.assertEqual(done.stdout.strip(), "5000000")

    def test_the_memory_limit_is_in_force(self):
        code = "x = bytearray(600 * 1024 * 1024); print('got it')"
        done = run_as_student(["/usr/bin/python3", "-c", code], memory=256 * 1024 * 1024)
        self.assertEqual((done.stdout, done.exit_code), ("", 1))
        self.assertIn("MemoryError", done.stderr)

    def test_a_signal_is_a_negative_exit_code(self):
        self.assertEqual(run_as_student(["sh", "-c", "kill -11 $$"]).exit_code, -11)

    def test_a_program_that_is_not_there_is_an_error_that_names_it(self):
        with self.assertRaises(FileNotFoundError) as caught:
            run_as_student(["chalk-no-such-program"])
        self.assertIn("chalk-no-such-program", str(caught.exception))

    def test_a_cwd_that_is_not_there_is_an_error_that_names_it(self):
        with self.assertRaisesRegex(FileNotFoundError, "/nowhere/at/all"):
            run_as_student(["true"], cwd="/nowhere/at/all")

    def test_descriptors_are_all_given_back(self):
        before = sorted(os.listdir("/proc/self/fd"))
        run_as_student(["true"])
        with self.assertRaises(FileNotFoundError):
            run_as_student(["chalk-no-such-program"])
        run_as_student(["sleep", "600"], timeout=0.1)
        self.assertEqual(sorted(os.listdir("/proc/self/fd")), before)


if __name__ == "__main__":
    unittest.main()
