"""A harness in a sandbox whose cgroup is its own to divide, as in an engine's container: a mount namespace, a root of its
own, and a cgroup made by hand and mounted writable. The test is the host at the other end of the channel, and the engine that
gives the sandbox its environment."""

import json
import os
import pathlib
import socket
import subprocess
import unittest

from support.chalk import BUILD, CHALK, SHELL, SOURCE, ChalkTest, bash, events, main, needs_root, turns

CONTROLLERS = ("memory", "pids")
MEMORY = 3 << 30

# $1 the root to be, $2 chalk, $3 its file tool, $4 the SDK, $5 the environment, $6 the group's name, $7 the channel;
# the rest: NAME=value for the harness's environment alone
SANDBOX = """
set -e
root=$1
mount -t tmpfs -o mode=0755 none "$root"
cd "$root"
mkdir -p usr proc dev etc tmp var/tmp chalk/python root/environment workdir root_data intermediate_data out
chmod 1777 tmp var/tmp workdir
for name in bin sbin lib lib64; do [ ! -L "/$name" ] || ln -s "usr/$name" "$name"; done
mount --bind -o ro /usr usr
mount --rbind /proc proc
mount --bind /dev dev
touch chalk/chalk chalk/chalk-file-tool
mount --bind "$2" chalk/chalk
mount --bind "$3" chalk/chalk-file-tool
mount --bind "$4" chalk/python
mount --bind "$5" root/environment
for controller in memory pids; do
    mkdir -p "sys/fs/cgroup/$controller"
    mount --bind "/sys/fs/cgroup/$controller/$6" "sys/fs/cgroup/$controller"
    echo $$ > "sys/fs/cgroup/$controller/cgroup.procs"
done
channel=$7
shift 7
exec chroot . /usr/bin/env "$@" /chalk/chalk run --no-containerized --channel-fd "$channel"
"""


@needs_root
class OwnCgroup(ChalkTest):
    def setUp(self):
        super().setUp()
        self.group = f"chalk_test_own_{os.getpid()}"
        for controller in CONTROLLERS:
            group = pathlib.Path("/sys/fs/cgroup") / controller / self.group
            try:
                group.mkdir()
            except OSError as error:
                raise unittest.SkipTest(f"no cgroup v1 that could be divided: {error}")
            self.addCleanup(group.rmdir)
            for inner in ("chalk_harness", "chalk_student"):
                self.addCleanup(lambda path=group / inner: path.exists() and path.rmdir())

    def run_harness(self, config, look, *variables):
        """Plays the host; returns the run's events. `look` is called with each as it comes and the harness's place in /proc."""
        ours, theirs = socket.socketpair()
        root = self.folder / "root"
        root.mkdir()
        harness = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", SANDBOX, "sandbox", root, CHALK,
             BUILD / "chalk_file_tool", SOURCE / "sdk/python", SHELL, self.group, str(theirs.fileno()), *variables],
            pass_fds=[theirs.fileno()], env={"PATH": os.environ["PATH"], "CHALK_SANDBOX_MEMORY_BYTES": str(MEMORY)},
            stderr=subprocess.PIPE, text=True)
        theirs.close()
        self.addCleanup(harness.stderr.close)
        self.addCleanup(lambda: harness.poll() is None and (harness.kill(), harness.wait()))
        student = {
            "uid": 1000, "gid": 1000, "home": "/workdir", "cgroup": {"procs": [], "v2": False}, "environment": [],
            "confinement_note": "a test's", "firewall": {"state": "none", "closed_ports": [], "internal": False},
        }
        start = {"type": "Start", "mode": "run", "config": config, "student": student}
        seen = []
        ours.settimeout(120)
        with ours, ours.makefile("rw", encoding="utf-8") as channel:
            channel.write(json.dumps(start) + "\n")
            channel.flush()
            for line in channel:
                seen.append(json.loads(line))
                look(seen[-1], pathlib.Path(f"/proc/{harness.pid}"))
        self.assertEqual(harness.wait(timeout=60), 0, harness.stderr.read())
        return {"events": seen}

    def test_the_harness_moves_into_chalk_harness_and_the_student_into_chalk_student_with_its_limits(self):
        script = turns(bash("cat /proc/self/cgroup"), bash("echo on"))
        config = {"environment": "/x", "run_id": "own", "use_fake_model": True, "fake_model": {"script": [script]}}
        groups = []

        def look(event, process):
            if event["type"] == "ToolResultEvent":
                groups.append((process / "cgroup").read_text())

        document = self.run_harness(config, look)
        harness = groups[0]
        self.assertEqual(document["events"][-1]["type"], "TaskCompletedEvent", document["events"][-1])
        (note,) = [e["text"] for e in events(document, "LogEvent") if e["text"].startswith("confinement: ")]
        self.assertIn("the sandbox's own cgroup v1: memory 2048 MiB, 512 processes", note)
        student = events(document, "ToolResultEvent")[0]["text"]
        for controller in CONTROLLERS:
            self.assertIn(f":{controller}:/{self.group}/chalk_harness\n", harness)
            self.assertIn(f":{controller}:/{self.group}/chalk_student\n", student)

    def test_a_harness_that_would_load_libraries_from_where_the_student_may_write_starts_anew_without(self):
        """What it was started with stays readable in /proc until it is another program's, so this shows that it became one."""
        waits = bash("while [ ! -e /workdir/looked ]; do sleep 0.05; done; echo on")
        config = {"environment": "/x", "run_id": "own", "use_fake_model": True, "fake_model": {"script": [turns(waits)]}}
        environments = []

        def look(event, process):
            if not environments:
                environments.append((process / "environ").read_bytes().split(b"\0"))
                (process / "root/workdir/looked").touch()

        document = self.run_harness(config, look, "LD_LIBRARY_PATH=/tmp", "OF_THE_ENGINE=kept")
        self.assertEqual(document["events"][-1]["type"], "TaskCompletedEvent", document["events"][-1])
        self.assertEqual(events(document, "ToolResultEvent")[0]["text"].strip(), "on")
        (variables,) = environments
        self.assertIn(b"OF_THE_ENGINE=kept", variables)
        self.assertEqual([one for one in variables if one.startswith(b"LD_")], [])


if __name__ == "__main__":
    main()
