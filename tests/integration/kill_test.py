"""Whatever is killed, exactly the runs concerned end with the right class, and nothing is left behind."""

import json
import os
import pathlib
import signal
import time

from support.chalk import (
    ChalkTest, Failed, bash, chalk, chalk_cgroups, descendants, end, eventually, main, needs_root, processes,
    processes_of_run, shell_config, start, tool_results, turns,
)

RUNS = 16


def harness_of(run_id):
    return [p for p in processes_of_run(run_id) if p.command.startswith("/chalk/chalk run ")]


def environment_host_of(run_id):
    return [p for p in processes_of_run(run_id) if "chalk.host" in p.command]


def student_shell_of(run_id, marker):
    return [p for p in processes_of_run(run_id) if marker in p.command and "bash" in p.command and "--channel-fd" not in p.command]


def sleeper_of(run_id):
    return [p for p in processes_of_run(run_id) if p.command == "sleep 3600"]


@needs_root
class Kills(ChalkTest):
    def test_of_16_runs_exactly_those_concerned_end_in_their_class(self):
        marker = "waiting-for-the-killer"
        # The call ends when its sleep is ended, so that no run is over before its part was killed.
        waiting = f"sleep 3600; echo {marker}"
        config = shell_config(
            turns(bash(waiting, timeout_s=60)), run_id="kill", task_args={"raise_on": "kill-3"},
        )
        before = chalk_cgroups()
        process = start(
            "run", "--config", json.dumps(config), "--out", self.out, "--no-ui", "-n", str(RUNS), "--memory", "256MiB",
            "--disk", "64MiB", "--overcommit", "2", cwd=self.folder,
        )
        self.addCleanup(lambda: process.poll() is None and end(process))

        def all_wait():
            if process.poll() is not None:
                out, err = process.communicate()
                raise Failed(f"chalk ended early with {process.returncode}\n{out[-3000:]}\n{err[-3000:]}")
            return all(student_shell_of(f"kill-{i}", marker) and sleeper_of(f"kill-{i}") for i in range(RUNS))

        eventually(all_wait, 90, "all 16 students wait in their shells")
        victims = [harness_of("kill-0"), environment_host_of("kill-1"), student_shell_of("kill-2", marker)]
        sleepers = [sleeper_of(f"kill-{i}") for i in range(RUNS)]
        for found in victims:
            self.assertEqual(len(found), 1, found)
            os.kill(found[0].pid, signal.SIGKILL)
        for i in [1, *range(3, RUNS)]:
            for sleeper in sleepers[i]:
                os.kill(sleeper.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, err[-3000:])

        documents = self.transcripts()
        self.assertEqual(len(documents), RUNS, sorted(documents))
        for name, document in documents.items():
            index = int(name.rsplit("_", 1)[1])
            expected = {0: ("error", "harness"), 1: ("error", "task"), 3: ("error", "task")}.get(index, ("passed", None))
            with self.subTest(run=index):
                self.assert_outcome(document, *expected)
        killed = tool_results(documents["t_2"])[0]
        self.assertTrue(killed["is_error"])
        self.assertIn("killed by signal 9", killed["text"])
        self.assertIn("the judge raises", json.dumps(documents["t_3"]["outcome"]))

        self.assertEqual(descendants(process.pid), [])
        eventually(lambda: not processes_of_run("kill-0"), 5, "no process of a run is left")
        eventually(lambda: chalk_cgroups() <= before, 5, "no cgroup of a run is left")

    def test_after_sigkill_of_chalk_no_process_within_5_s_and_nothing_after_the_next_start(self):
        config = shell_config(turns(bash("sleep 3600", timeout_s=3600)), run_id="orphan")
        before = chalk_cgroups()
        process = start(
            "run", "--config", json.dumps(config), "--out", self.out, "--no-ui", "-n", "4", "--memory", "256MiB", "--disk",
            "64MiB", cwd=self.folder,
        )
        self.addCleanup(lambda: process.poll() is None and end(process))
        eventually(
            lambda: all(any("sleep 3600" in p.command for p in processes_of_run(f"orphan-{i}")) for i in range(4)), 60,
            "four students sleep",
        )
        family = {(p.pid, p.command) for p in descendants(process.pid)}
        self.assertGreater(len(family), 4 * 3, "the helper, and in each sandbox init, the harness and the student")
        process.kill()
        process.wait()
        eventually(
            lambda: not [p for i in range(4) for p in processes_of_run(f"orphan-{i}")]
            and not processes(lambda p: (p.pid, p.command) in family),
            5, "every process is gone 5 s after SIGKILL of chalk",
        )
        process.communicate()
        self.run_shell(shell_config(run_id="next"))
        self.assertLessEqual(chalk_cgroups(), before, "after the next start no cgroup is left")
        self.assertEqual([p for p in pathlib.Path("/run/chalk").glob(f"*{process.pid}-*")], [])
        self.assertEqual(json.loads(chalk("gc", "--dry-run", "--json", check=0).stdout)["leftovers"], [])

    def test_ctrl_c_ends_all_runs_in_order_within_5_s_and_says_what_was_kept(self):
        config = shell_config(turns(bash("sleep 3600", timeout_s=3600)), run_id="interrupted")
        process = start(
            "run", "--config", json.dumps(config), "--out", self.out, "--no-ui", "-n", "4", "--memory", "256MiB", "--disk",
            "64MiB", cwd=self.folder,
        )
        self.addCleanup(lambda: process.poll() is None and end(process))
        eventually(
            lambda: all(any("sleep 3600" in p.command for p in processes_of_run(f"interrupted-{i}")) for i in range(4)), 60,
            "four students sleep",
        )
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err[-2000:])
        self.assertLess(time.monotonic() - asked, 5)
        documents = self.transcripts()
        self.assertEqual(len(documents), 4)
        for name, document in documents.items():
            self.assert_outcome(document, "cancelled")
            self.assertIn(f"{name}.json", out + err)


if __name__ == "__main__":
    main()
