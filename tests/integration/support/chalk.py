"""Runs the built chalk, and looks at what it left. Standard library only."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(os.environ.get("CHALK_BUILD", "build/dev")).resolve()
SOURCE = pathlib.Path(os.environ.get("CHALK_SOURCE", ".")).resolve()
CHALK = BUILD / "chalk"
SHELL = SOURCE / "tests/environments/shell"
SUITE = pathlib.Path("/usr/share/json-schema-test-suite/tests/draft7")

# Whole runs take a second or so; this is the deadline after which something hangs.
DEADLINE_S = 120


class Failed(AssertionError):
    """A chalk that did not do what the test asked."""


def chalk(*arguments, timeout=DEADLINE_S, check=None, cwd=None, env=None, input=None, preexec_fn=None):
    """Runs chalk to its end. With `check` (an exit code) any other code fails the test with chalk's own words."""
    result = subprocess.run(
        [str(CHALK), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=cwd, input=input,
        preexec_fn=preexec_fn, env={**os.environ, **(env or {})}, errors="replace",
    )
    if check is not None and result.returncode != check:
        raise Failed(
            f"chalk {' '.join(map(str, arguments))}: exit code {result.returncode}, expected {check}\n"
            f"--- stdout\n{result.stdout[-6000:]}\n--- stderr\n{result.stderr[-6000:]}"
        )
    return result


def start(*arguments, **options):
    """Starts chalk in a process group of its own; the caller ends it."""
    return subprocess.Popen(
        [str(CHALK), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, errors="replace", **options,
    )


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def bash(command, **more):
    return call("bash", command=command, **more)


def turns(*calls):
    """One step: a turn for each call, then a last word."""
    return [*({"text": "", "tool_calls": [one]} for one in calls), {"text": "Done."}]


def shell_config(*steps, run_id="shell", environment=SHELL, latency_ms=0, **keys):
    """A run config of the shell environment; each step a list of turns (see turns())."""
    return {
        "environment": str(environment), "run_id": run_id, "use_fake_model": True,
        "fake_model": {"script": list(steps) or [turns()], "latency_ms": latency_ms},
        **keys,
    }


_SCHEMA = SOURCE / "protocol/transcript/schema.json"


def transcript(path):
    """A transcript, held against the published schema: every one that a test produces goes through here."""
    import jsonschema

    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(document)
    return document


def events(document, kind):
    return [event for event in document["events"] if event["type"] == kind]


def tool_results(document):
    return events(document, "ToolResultEvent")


def eventually(condition, seconds, what):
    """Asks until it holds; fails with `what` after the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Process:
    """One line of /proc, read once."""

    def __init__(self, pid):
        base = pathlib.Path("/proc") / str(pid)
        self.pid = pid
        self.command = (base / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        self.cgroups = (base / "cgroup").read_text()
        stat = (base / "stat").read_text().rsplit(")", 1)[1].split()
        self.state, self.parent = stat[0], int(stat[1])

    def __repr__(self):
        return f"{self.pid} {self.command[:100]}"


def processes(where=lambda process: True):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                process = Process(int(entry))
                if process.state != "Z" and where(process):
                    found.append(process)
            except OSError:
                continue
    return found


def processes_of_run(run_id):
    """Every process of a run's sandbox, by its cgroup."""
    def is_of(process):
        return any(part == run_id for line in process.cgroups.splitlines() for part in line.rsplit(":", 1)[1].split("/"))
    return processes(is_of)


def descendants(pid):
    everything = processes()
    found, frontier = [], {pid}
    while frontier:
        children = [p for p in everything if p.parent in frontier]
        found += children
        frontier = {p.pid for p in children}
    return found


def chalk_cgroups():
    return {
        os.path.join(root, name)
        for root, folders, _ in os.walk("/sys/fs/cgroup") if root.endswith("/chalk") or "/chalk/" in root
        for name in folders
    }


class ChalkTest(unittest.TestCase):
    """A temporary folder for outputs, and the promise that a test leaves nothing behind."""

    def setUp(self):
        if not CHALK.exists():
            raise Failed(f"{CHALK} is not built")
        folder = tempfile.TemporaryDirectory(prefix="test-chalk-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out" / "t.json"

    def run_shell(self, config, *flags, check=0, **options):
        """`chalk run` with `config`; returns (the result, the transcripts by their file names)."""
        result = chalk(
            "run", "--config", json.dumps(config), "--out", self.out, "--no-ui", *flags, check=check, cwd=self.folder,
            **options,
        )
        return result, self.transcripts()

    def transcripts(self):
        return {path.stem: transcript(path) for path in sorted(self.out.parent.glob("*.json"))}

    def only(self, transcripts):
        self.assertEqual(len(transcripts), 1, list(transcripts))
        return next(iter(transcripts.values()))

    def assert_outcome(self, document, status, kind=None):
        outcome = document["outcome"]
        self.assertIsNotNone(outcome, "no outcome")
        error = outcome.get("error")
        self.assertEqual((outcome["status"], error and error["class"]), (status, kind), outcome)


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root: run the tests as root")(test)


def main():
    """Runs a file's tests; 77 when all of them were skipped."""
    sys.stdout.reconfigure(line_buffering=True)
    program = unittest.main(module="__main__", verbosity=2, exit=False)
    result = program.result
    for _, reason in result.skipped:
        print(f"SKIPPED: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)


def end(process, signal_number=signal.SIGKILL):
    """Ends a chalk that a test started, and reads what it still says."""
    if process.poll() is None:
        process.send_signal(signal_number)
    return process.communicate(timeout=30)


class Speaking:
    """A chalk that runs, and what it has said so far."""

    def __init__(self, process):
        self.process = process
        self.said = []
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.process.stderr:
            self.said.append(line)

    def text(self):
        return "".join(self.said)

    def finish(self, seconds=180):
        """Its exit code, when it has ended and all that it said is read."""
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"chalk did not end within {seconds} s; it said\n{self.text()[-3000:]}") from None
        self.reader.join(30)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(timeout=30)
        self.reader.join(30)
        self.process.stdout.close()
        self.process.stderr.close()
