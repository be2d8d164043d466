"""A cluster of real processes: a coordinator and nodes, each in a network namespace with a home and a folder of its own,
the coordinator on the hub of their network. What they did is read from the sweep's journal, its export, and the stamps
that its runs leave outside chalk (tests/environments/stamps)."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess

from support.chalk import BUILD, CHALK, SOURCE, ChalkTest, Failed, chalk, descendants, eventually
from support.network import HUB, Network, Unavailable
from support.sweep import ended, export, rows_of

STAMPS = SOURCE / "tests/environments/stamps"
PORT = 7000
LEASE_S = 4
# When the others have surely got what a lost node ran: docs/adr/0014, and as much again for a machine that is busy.
LOST_WITHIN_S = 4 * LEASE_S
ORDERLY_END_S = 40


def _is_sanitized():
    cache = BUILD / "CMakeCache.txt"
    lines = cache.read_text().splitlines() if cache.exists() else []
    return any(line.startswith("CHALK_SANITIZERS:") and not line.endswith("=") for line in lines)


# The sanitizer keeps freed memory back, which would look like growth.
SMALL_QUARANTINE = {
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
}
SANITIZED = _is_sanitized()


class Program:
    """A process in a namespace that writes to a log; it dies with the test, however that ends."""

    def __init__(self, name, space, command, folder, environment=()):
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.log = name, folder / f"{name}.log"
        with self.log.open("ab") as log:
            self.from_byte = log.tell()
            self.process = subprocess.Popen(
                [*space.enter(), "setpriv", "--pdeathsig", "KILL", *map(str, command)], stdin=subprocess.PIPE, stdout=log,
                stderr=log, start_new_session=True, cwd=folder, env={**os.environ, **dict(environment)},
            )
        self.pid = self.process.pid

    def text(self):
        """What this process has said, not those before it under its name."""
        with self.log.open("rb") as log:
            log.seek(self.from_byte)
            return log.read().decode(errors="replace")

    def runs(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, seconds):
        """Its exit code."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} did not end within {seconds} s") from None

    def kill(self):
        """At once; returns what was below it."""
        below = descendants(self.pid)
        self.process.kill()
        self.process.wait(timeout=30)
        return below

    def close(self):
        if self.runs():
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(timeout=30)
        self.process.stdin.close()


def last_words(text):
    """A sanitizer's report from its beginning, or the last lines; not those of single cells, of which a sweep says many."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if "ERROR: " in line and "Sanitizer" in line or "runtime error: " in line:
            return lines[number:number + 60]
    return [line for line in lines if not line.startswith("task_args.")][-15:]


def memory_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    return 0


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes_about(folder):
    """Those that have `folder` in their command, their environment or as the folder they work in."""
    found, needle = [], os.fsencode(folder)
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            command = (entry / "cmdline").read_bytes()
            if (needle in command or needle in (entry / "environ").read_bytes()
                    or needle in os.fsencode(os.readlink(entry / "cwd"))):
                found.append(f"{entry.name} {command.replace(bytes(1), b' ').decode(errors='replace')[:120]}")
        except OSError:
            continue
    return found


def fleet_sweep(runs, work_s=0.5, stamps=None, long_s=0.0, name="fleet", at_once=None, **keys):
    """Of `runs` runs, half are of the environment that is nothing and wait for their model, half leave stamps; each takes
    about `work_s`, every eighth of those with stamps `long_s` unless that is 0. `at_once`: on all nodes together."""
    waits = {"environment": "builtin:noop", "fake_model.latency_ms": round(1000 * work_s)}
    kinds = [waits, {"environment": str(STAMPS), "fake_model.latency_ms": 0}] if stamps else [waits]
    return {
        "name": name,
        "base": {
            "environment": "builtin:noop", "use_fake_model": True, "fake_model": {"script": [[{"text": "anything"}]]},
            "task_args": {"item": 0, "stamps": stamps and str(stamps), "work_s": work_s, "long_s": long_s},
        },
        "axes": {"task_args.item": list(range(runs // len(kinds))), "kind": kinds},
        "budget": {"max_concurrent": at_once},
        **keys,
    }


def is_stamped(row):
    return row["values"]["environment"] != "builtin:noop"


class ClusterTest(ChalkTest):
    """`NODES` on a network, their certificates, and a sweep that they run."""

    NODES = ("node1", "node2", "node3")
    PEERS = ()  # others who have certificates

    def setUp(self):
        super().setUp()
        self.sweep, self.stamps, self.fleet = self.folder / "sweep", self.folder / "stamps", self.folder / "fleet"
        self.programs = {}  # by name, the last one of it
        self.gone = []  # pids of chalks that were killed
        try:
            self.network = Network([*self.NODES])
        except Unavailable as error:
            self.skipTest(str(error))
        self.addCleanup(self.network.close)
        self.hub = self.network.spaces[HUB]
        self.at = f"{self.network.addresses[HUB]}:{PORT}"
        self.make_certificates(self.fleet, ["coordinator", *self.NODES, *self.PEERS])

    def make_certificates(self, folder, names):
        chalk("cluster", "cert", "init", "--out", folder, "--name", folder.name, check=0)
        for name in names:
            chalk("cluster", "cert", "issue", name, "--cluster", folder, check=0)

    # Processes.

    def begin(self, name, space, *command, environment=()):
        program = Program(name, space, command, self.folder / "logs", environment)
        self.programs[name] = program
        self.addCleanup(program.close)
        return program

    def node(self, name, *flags, join=None, folder=None, tls=None):
        home = self.folder / "homes" / name
        for part in ("tmp", "run"):
            (home / part).mkdir(parents=True, exist_ok=True)
        way = () if "--listen" in flags else ("--join", join or self.at)
        return self.begin(
            name, self.network.spaces.get(name, self.hub), CHALK, "node", *way, "--tls", tls or self.fleet, "--tls-name", name,
            "--dir", folder or self.folder_of(name), *flags,
            environment={"HOME": str(home), "TMPDIR": str(home / "tmp"), "XDG_RUNTIME_DIR": str(home / "run")},
        )

    def folder_of(self, name):
        return self.folder / "nodes" / name

    def coordinator(self, what, *flags, listen=True):
        file = self.folder / f"{what['name']}.json"
        file.write_text(json.dumps(what))
        way = ("--listen", self.at) if listen else ()
        return self.begin(
            "coordinator", self.hub, CHALK, "sweep", "--config", file, "--out", self.sweep, *way, "--tls", self.fleet,
            "--tls-name", "coordinator", "--lease", LEASE_S, "--no-containerized", *flags, environment=SMALL_QUARANTINE,
        )

    def resume(self):
        return self.begin("coordinator", self.hub, CHALK, "sweep", "resume", self.sweep)

    def kill(self, name):
        """As a power cut of chalk alone. What it ran is dead within a moment."""
        program = self.programs[name]
        self.gone.append(program.pid)
        below = program.kill()
        eventually(lambda: not [one for one in below if os.path.exists(f"/proc/{one.pid}") and self.same(one)], 10,
                   f"all that {name} ran is dead: {below}")

    @staticmethod
    def same(process):
        """False for another one that has its number by now, or when it is only waited for."""
        try:
            stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            command = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            return stat[0] != "Z" and command.strip() == process.command
        except OSError:
            return False

    # What the journal says.

    def asked(self, query):
        """Rows; none while there is no journal that could be asked."""
        try:
            return rows_of(self.sweep, query)
        except sqlite3.OperationalError:
            return []

    def ended(self):
        return ended(self.sweep)

    def counted(self):
        return self.asked("select count(*) from attempt where verdict = 'counts'")[0][0]

    def leases(self, name):
        """(granted, ended) of each lease of that node."""
        return self.asked(f"select granted_ms, ended_ms from lease where node = '{name}' order by epoch, count")

    def open_leases(self):
        return [node for node, in self.asked("select node from lease where ended_ms is null")]

    def started_on(self, name):
        return self.asked(f"select count(*) from attempt where node = '{name}'")[0][0]

    # Waits.

    def wait_for(self, condition, seconds, what):
        """While the coordinator and the nodes that were not killed run."""
        def holds():
            value = condition()
            coordinator = self.programs.get("coordinator")
            if not value and coordinator and not coordinator.runs() and coordinator.pid not in self.gone:
                raise Failed(f"the coordinator ended with {coordinator.process.returncode} before {what}")
            return value

        return eventually(holds, seconds, what)

    def wait_for_ended(self, count, seconds=60):
        self.wait_for(lambda: self.ended() >= count, seconds, f"{count} attempts have ended")

    def wait_until_lost(self, name):
        """Until its lease has ended in the coordinator's books, so that others may have its runs."""
        self.wait_for(lambda: self.leases(name) and self.leases(name)[-1][1] is not None, LOST_WITHIN_S,
                      f"the lease of {name} has ended")

    def wait_until_back(self, name, leases):
        """Until it has a lease again beyond the first `leases`, or there is nothing more to do."""
        self.wait_for(lambda: len(self.leases(name)) > leases or not self.programs["coordinator"].runs(), 40,
                      f"{name} has come back")

    # What was seen.

    @contextlib.contextmanager
    def told(self):
        """What fails within says what became of the runs, and the last words of everybody."""
        try:
            yield
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{error}\n{self.seen()}") from error

    def seen(self):
        said = ["--- attempts by node, status, class, verdict"]
        attempts = collections.Counter(self.asked("select node, status, class, verdict from attempt"))
        said += [f"{count:6} {' '.join(str(part) for part in kind)}" for kind, count in sorted(attempts.items(), key=str)]
        messages = collections.Counter(m for m, in self.asked("select message from attempt where status = 'error'"))
        said += [f"{count:6} {message}" for message, count in messages.most_common(5)]
        evidence = self.asked("select node, status, count(*) from evidence group by node, status")
        said.append(f"--- evidence by node, status: {evidence}")
        said.append("--- leases: node, number, granted, ended")
        said += [str(row) for row in self.asked("select node, epoch, count, granted_ms, ended_ms from lease")[-20:]]
        for program in self.programs.values():
            state = "runs" if program.runs() else f"ended with {program.process.returncode}"
            said.append(f"--- {program.name} ({program.pid}) {state}; its last words")
            said += last_words(program.text())
        return "\n".join(said)

    # What has to hold.

    def finish_sweep(self, seconds=240):
        self.assertEqual(self.programs["coordinator"].finish(seconds), 0, "the coordinator's exit code")

    def check_whole(self, runs):
        """Exactly one outcome for each run, the right one, with its transcript."""
        rows = export(self.sweep)
        self.assertEqual(len({row["run_id"] for row in rows}), len(rows), "each run is exported once")
        by_outcome = collections.Counter((row["status"], row["error_class"]) for row in rows)
        self.assertEqual(by_outcome, {("passed", None): runs})
        attempts = export(self.sweep, "--all-attempts")
        counted = collections.Counter(row["run_id"] for row in attempts if row["counts"])
        self.assertEqual({run: count for run, count in counted.items() if count != 1}, {}, "no run is counted twice")
        self.assertEqual(len(counted), runs)
        for row in rows:
            document = json.loads((self.sweep / row["transcript"]).read_text())
            self.assertEqual((document["run"]["run_id"], document["outcome"]["status"], document["score"]),
                             (row["run_id"], row["status"], row["score"]))
            self.assertEqual(row["score"], 1 / (1 + row["values"]["task_args.item"]) if is_stamped(row) else 1)
        self.assertEqual(self.asked("select count(*), count(distinct run) from closed"), [(runs, runs)])
        twice = self.asked("select run from attempt where verdict = 'counts' group by run having count(*) > 1")
        self.assertEqual(twice, [], "no run counts twice")
        self.assertEqual(self.asked("select run, attempt, node from attempt where ended_ms is null"), [])
        self.assertEqual(set(self.asked("select distinct node from attempt")) - {(name,) for name in self.NODES}, set())
        self.assertEqual(list(self.sweep.rglob("*.tmp")), [], "no half-written file is left")
        return attempts

    def check_stamps(self, attempts):
        """Each run with stamps left some; and no two attempts of one run were alive at once."""
        stamps = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in self.stamps.read_text().splitlines():
            run, who, nanoseconds = line.split()
            stamps[run][who].append(int(nanoseconds))
        self.assertEqual(set(stamps), {row["run_id"] for row in attempts if is_stamped(row) and row["counts"]})
        known = collections.Counter(row["run_id"] for row in attempts)
        overlaps = []
        for run, by_attempt in stamps.items():
            self.assertLessEqual(len(by_attempt), known[run], f"{run} ran more often than the journal says")
            spans = sorted((min(times), max(times)) for times in by_attempt.values())
            for (_, last), (first, _) in zip(spans, spans[1:]):
                if first <= last:
                    overlaps.append(f"{run}: the next attempt began {(last - first) / 1e9:.3f} s before the last stamp")
        self.assertEqual(overlaps, [], "no two attempts of a run interleave")

    def end_nodes(self):
        """Those that run, in order: with the exit code 0, and nothing is left of them or of those that were killed."""
        nodes = [program for name, program in self.programs.items() if name in self.NODES and program.runs()]
        for node in nodes:
            node.signal(signal.SIGTERM)
        codes = {node.name: node.finish(ORDERLY_END_S) for node in nodes}
        self.assertEqual(codes, {node.name: 0 for node in nodes}, "exit codes of the nodes")
        self.assertEqual(self.open_leases(), [], "no lease is open when all nodes have gone")
        self.check_nothing_left([node.pid for node in nodes], [node.name for node in nodes])

    def check_nothing_left(self, pids, names):
        eventually(lambda: not self.strangers(), 15, f"every process is gone; now {self.strangers()}")
        if self.gone:
            chalk("gc", check=0)
        state = pathlib.Path("/run/chalk")
        left = [path.name for path in (state.iterdir() if state.is_dir() else ())
                if path.name.split("-")[0] in {str(pid) for pid in [*pids, *self.gone]}]
        self.assertEqual(left, [], "no state of theirs is left")
        for name in names:
            # A node that was away when the sweep ended was not told that its result is in the journal.
            kept = [str(path) for path in self.folder_of(name).rglob("result.json")
                    if not self.asked(f"select 1 from closed where run = {int(path.parent.name.split('-')[0])}")]
            self.assertEqual(kept, [], f"{name} has delivered its results")
            self.assertEqual(list((self.folder / "homes" / name / "tmp").iterdir()), [], f"temporary files of {name}")

    def strangers(self):
        """Processes of this test that are left, those apart that it holds itself."""
        own = {str(program.pid) for program in self.programs.values() if program.runs()}
        return [one for one in processes_about(self.folder) if one.split()[0] not in own]
