"""Whatever the student's command does, it ends in a bounded tool result, and the run goes on, its neighbours too."""

import json
import time

from support.chalk import ChalkTest, bash, main, needs_root, shell_config, tool_results, turns

CALL_TIMEOUT_S = 4
# The timeout, two seconds of grace after SIGTERM, and slack for a loaded machine.
BOUND_MS = (CALL_TIMEOUT_S + 2 + 12) * 1000

HOSTILE = {
    "forks without end": ":(){ :|:& };:; wait; sleep 60",
    "python fork bomb": "python3 -c 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'",
    "fills the disk": "cat /dev/zero > /workdir/filler; cat /dev/zero > /tmp/filler; rm -f /workdir/filler /tmp/filler; echo disk done",
    "fills the inodes": "mkdir /workdir/many && cd /workdir/many && python3 -c '\nimport itertools\ntry:\n for i in itertools.count(): open(str(i), \"w\")\nexcept OSError as error: print(error)'; rm -rf /workdir/many",
    "eats memory": "python3 -c 'x = []\nwhile True: x.append(bytearray(1 << 24))'",
    "ignores SIGTERM": "trap '' TERM; while :; do sleep 1; done",
    "double-forks and leaves the session": "(setsid setsid sleep 3600 >/dev/null 2>&1 </dev/null &) ; setsid sleep 3600 & sleep 3600",
    "prints 1 GB": "head -c 1000000000 /dev/zero | tr '\\0' 'x'",
    "prints without end": "yes",
    "prints what is not text": "head -c 100000 /dev/urandom",
    "closes its streams": "exec >&- 2>&- <&-; sleep 3600",
    "kills everything it can": "kill -9 -1",
}


@needs_root
class HostileStudent(ChalkTest):
    def hostile_run(self, name, command):
        config = shell_config(
            turns(bash(command, timeout_s=CALL_TIMEOUT_S), bash("echo the run goes on")),
            run_id="hostile",
        )
        started = time.monotonic()
        _, transcripts = self.run_shell(config, "--memory", "512MiB", "--disk", "256MiB")
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        first, second = tool_results(document)
        self.assertLessEqual(first["duration_ms"], BOUND_MS, name)
        self.assertLess(len(first["text"]), 256 * 1024)
        self.assertEqual((second["text"].strip(), second["is_error"]), ("the run goes on", False), name)
        return first, time.monotonic() - started


def add_case(name, command):
    def test(self):
        first, _ = self.hostile_run(name, command)
        check = CHECKS.get(name)
        if check:
            check(self, first)

    test.__doc__ = f"a call that {name} ends in a bounded result"
    setattr(HostileStudent, "test_" + "_".join(name.split()), test)


def says_timeout(self, result):
    self.assertTrue(result["is_error"], result)
    self.assertIn("stopped after", result["text"])


CHECKS = {
    "ignores SIGTERM": says_timeout,
    "double-forks and leaves the session": says_timeout,
    "closes its streams": says_timeout,
    "prints 1 GB": lambda self, result: self.assertTrue(result["truncated"]),
    "prints without end": lambda self, result: self.assertTrue(result["truncated"]),
    "fills the disk": lambda self, result: self.assertIn("No space left", result["text"]),
    "fills the inodes": lambda self, result: self.assertIn("No space left", result["text"]),
}

for case in HOSTILE.items():
    add_case(*case)


@needs_root
class Neighbours(ChalkTest):
    def test_a_fork_bomb_and_a_memory_eater_leave_the_other_runs_alone(self):
        """All runs share the script; the index in the run's name decides who misbehaves."""
        command = (
            'case "$(cat /workdir/run-id)" in '
            f"*-0) {HOSTILE['forks without end']} ;; "
            f"*-1) {HOSTILE['eats memory']} ;; "
            "*) echo quiet ;; esac"
        )
        config = shell_config(turns(bash(command, timeout_s=CALL_TIMEOUT_S), bash("echo after")), run_id="neighbours")
        _, transcripts = self.run_shell(config, "-n", "4", "--memory", "512MiB", "--disk", "256MiB")
        self.assertEqual(len(transcripts), 4)
        for name, document in transcripts.items():
            self.assert_outcome(document, "passed")
            first, second = tool_results(document)
            self.assertEqual(second["text"].strip(), "after", name)
            if name.endswith(("_2", "_3")):
                self.assertEqual(first["text"].strip(), "quiet", json.dumps(first))


if __name__ == "__main__":
    main()
