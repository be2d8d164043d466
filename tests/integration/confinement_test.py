"""What holds the student in a namespaces sandbox: `chalk check confinement` inside one, and a student that tries."""

import json
import os
import shutil
import subprocess
import unittest

from support.chalk import CHALK, DEADLINE_S, SOURCE, ChalkTest, bash, call, chalk, events, main, needs_root, processes_of_run, shell_config, tool_results, turns

ROOTED = SOURCE / "tests/environments/rooted"
SECRET = "the secret of root_data"
MEMORY = 512 << 20

# What the kernel or the runtime gives nobody here; every other probe must pass.
LACKING = {"limit: file quota"}  # root may mount nothing in a namespaces sandbox


def rooted_config(*steps, before=(), after=(), run_id="confined", **keys):
    return shell_config(
        *steps, run_id=run_id, environment=ROOTED,
        task_args={"before": list(before), "after": list(after), "steps": max(1, len(steps))}, **keys,
    )


@needs_root
class Check(ChalkTest):
    def check_inside(self, **options):
        """`chalk check confinement` in a sandbox of MEMORY: its report and how it ended."""
        check = {"argv": ["/chalk/chalk", "check", "confinement", "--json"], "env": {"ASAN_OPTIONS": "detect_leaks=0"}}
        _, transcripts = self.run_shell(rooted_config(before=[check]), "--memory", str(MEMORY), "--disk", "256MiB", **options)
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        (hook,) = events(document, "TaskPreHookCompletedEvent")
        (done,) = hook["metadata"]["commands"]
        self.assertTrue(done["out"], done)
        report = json.loads(done["out"])
        for probe in report["probes"]:
            print(f"  {probe['result']}  {probe['name']}: {probe['seen']}")
        return report, done

    def test_all_probes_pass_in_a_sandbox_but_those_that_the_runtime_cannot_have(self):
        report, done = self.check_inside()
        by_result = {kind: {p["name"] for p in report["probes"] if p["result"] == kind} for kind in ("pass", "fail", "skip")}
        self.assertEqual(by_result["fail"], set())
        self.assertEqual(by_result["skip"], LACKING)
        self.assertGreaterEqual(len(by_result["pass"]), 26)
        self.assertEqual(report["leftovers"], [])
        self.assertEqual((report["good"], done["code"]), (True, 0), done["err"])

    def test_the_check_goes_by_the_runs_own_memory_and_network(self):
        """Nothing but the run's own flags and variable tells it."""
        report, done = self.check_inside(env={"CHALK_STUDENT_NETWORK": "internal"})
        expected = {probe["name"]: probe["expected"] for probe in report["probes"]}
        private = [text for name, text in expected.items() if name.startswith("firewall: private network")]
        self.assertEqual(len(private), 4)
        for text in private:
            self.assertIn("CHALK_STUDENT_NETWORK=internal", text)
        self.assertIn(f"{MEMORY // 2 >> 20} MiB", expected["limit: memory"])
        self.assertEqual((report["good"], done["code"]), (True, 0), done["err"])

    def test_the_log_says_which_confinement_is_in_force_before_the_pre_hook(self):
        _, transcripts = self.run_shell(rooted_config())
        document = self.only(transcripts)
        kinds = [event["type"] for event in document["events"]]
        notes = [e for e in events(document, "LogEvent") if e["text"].startswith("confinement: ")]
        self.assertEqual(len(notes), 1)
        self.assertIn("student firewall by nftables", notes[0]["text"])
        self.assertLess(document["events"].index(notes[0]), kinds.index("TaskPreHookCompletedEvent"))

    def test_a_wrong_word_for_the_students_network_is_refused(self):
        result, _ = self.run_shell(rooted_config(), check=2, env={"CHALK_STUDENT_NETWORK": "all"})
        self.assertIn("CHALK_STUDENT_NETWORK", result.stderr)


@needs_root
class OutsideASandbox(ChalkTest):
    @unittest.skipUnless(shutil.which("unshare"), "needs unshare (util-linux)")
    def test_a_machine_that_holds_no_student_is_exit_code_1_and_says_what_is_missing(self):
        """In a network of its own, since the check sets rules where it may: the machine's are left alone."""
        result = subprocess.run(
            ["unshare", "-n", CHALK, "check", "confinement", "--json"], capture_output=True, text=True, timeout=DEADLINE_S,
            env={"PATH": os.environ["PATH"], "CHALK_SANDBOX_MEMORY_BYTES": str(128 << 20), "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(result.returncode, 1, result.stderr)
        report = json.loads(result.stdout)
        self.assertIs(report["good"], False)
        failed = {probe["name"] for probe in report["probes"] if probe["result"] == "fail"}
        self.assertIn("limit: disk", failed)  # there is no /workdir, or it is the machine's own disk
        self.assertEqual(report["leftovers"], [])

    def test_hardware_that_it_does_not_know_is_refused(self):
        self.assertIn("no such hardware", chalk("check", "confinement", "--hardware", "x", check=2).stderr)


NETWORK = r"""
import errno, socket
def attempt(name, family, kind, to=None, protocol=0):
    try:
        s = socket.socket(family, kind, protocol)
        s.settimeout(3)
        if to:
            s.connect(to)
            s.send(b"x")
        print("OUT", name)
    except OSError as error:
        print("no", name, errno.errorcode.get(error.errno, error))
attempt("raw v4", socket.AF_INET, socket.SOCK_RAW, protocol=socket.IPPROTO_ICMP)
attempt("raw v6", socket.AF_INET6, socket.SOCK_RAW, protocol=58)
attempt("packet", socket.AF_PACKET, socket.SOCK_RAW)
attempt("tcp v6", socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700:4700::1111", 443))
attempt("dns v4", socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53))
attempt("dns v6", socket.AF_INET6, socket.SOCK_DGRAM, ("2001:4860:4860::8888", 53))
attempt("metadata", socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))
attempt("tool server v4", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 18801))
attempt("tool server v6", socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", 18801))
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
socket.create_connection(server.getsockname(), 3)
print("own server reached")
"""

PROCESSES = r"""
import ctypes, os
me = os.getuid()
libc = ctypes.CDLL(None, use_errno=True)
shown = [int(p) for p in os.listdir("/proc") if p.isdigit()]
for pid in range(1, 400):
    try:
        if os.stat(f"/proc/{pid}").st_uid == me:
            continue
    except OSError:
        pass
    if pid in shown:
        print("OUT shows", pid)
    for name in ("cmdline", "environ", "mem", "fd", "root", "maps"):
        try:
            path = f"/proc/{pid}/{name}"
            data = os.listdir(path) if name in ("fd", "root") else open(path, "rb").read(1)
            print("OUT read", path, data)
        except OSError:
            pass
    for signal in (0, 9, 19):
        try:
            os.kill(pid, signal)
            print("OUT signal", signal, "to", pid)
        except OSError:
            pass
    if libc.ptrace(16, pid, 0, 0) == 0:
        print("OUT ptrace", pid)
print("own processes shown", all(os.stat(f"/proc/{p}").st_uid == me for p in shown if os.path.exists(f"/proc/{p}")))
"""

SOCKETS = r"""
import os, re, socket, stat
for line in open("/proc/net/unix").read().splitlines()[1:]:
    name = (line.split() + [""])[7] if len(line.split()) > 7 else ""
    if name:
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect(name.replace("@", "\0", 1) if name.startswith("@") else name)
            s.send(b'{"type":"Cancel","reason":"hostile"}\n')
            print("OUT connected", name)
        except OSError as error:
            print("no", name, error)
for folder in ("/run", "/tmp", "/var/tmp", "/chalk", "/out", "/root", "/dev/shm"):
    for root, folders, files in os.walk(folder):
        for one in files:
            path = os.path.join(root, one)
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                print("OUT a socket", path)
for fd in range(3, 64):
    try:
        os.fstat(fd)
        print("OUT inherited", fd, os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        pass
"""

SET_UID = """
cp /bin/sh /workdir/shell && chmod 6777 /workdir/shell && /workdir/shell -p -c 'id -u'
for program in $(find / -xdev -perm -4000 -type f 2>/dev/null | head -20); do echo "set-uid $program"; done
su -c 'id -u' 2>&1 | grep -x 0 && echo OUT su
chown root /workdir/shell 2>/dev/null && echo OUT chown
setcap cap_net_raw+ep /workdir/shell 2>/dev/null && echo OUT setcap
grep -E '^Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | grep -v -E '0000000000000000$' && echo OUT capabilities
echo tried
"""

def swapper(folder):
    """Swaps FOLDER/swap/victim.txt without end: a file of its own, a link to root's, a link to root's folder."""
    return f"""
mkdir -p {folder}/swap && echo mine > {folder}/swap/mine.txt && echo fine > /workdir/fine.txt
ln -s /root_data/secret.txt /workdir/link.txt; ln -s /root_data /workdir/linked
ln /root_data/secret.txt /workdir/hard.txt 2>/dev/null && echo OUT hard link
cat > /workdir/swapper.py <<'END'
import os
while True:
    for target in ("{folder}/swap/mine.txt", "/root_data/secret.txt", "/root_data"):
        try:
            if target.endswith("mine.txt"):
                with open("{folder}/swap/.new", "w") as file: file.write("mine")
            else:
                os.symlink(target, "{folder}/swap/.new")
            os.rename("{folder}/swap/.new", "{folder}/swap/victim.txt")
        except OSError:
            pass
END
setsid python3 /workdir/swapper.py >/dev/null 2>&1 &
sleep 0.2; echo started
"""


@needs_root
class Hostile(ChalkTest):
    def student(self, command, *, after=(), keys=None, run_id="hostile-root"):
        config = rooted_config(
            turns(bash(command, timeout_s=60), bash("echo the run goes on")), after=after, run_id=run_id, **(keys or {}),
        )
        _, transcripts = self.run_shell(config, "--memory", "512MiB", "--disk", "256MiB")
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        first, second = tool_results(document)
        self.assertEqual(second["text"].strip(), "the run goes on")
        self.assertNotIn("OUT", first["text"])
        return first["text"], document

    def python(self, program, **more):
        return self.student(f"cat > /tmp/try.py <<'END_OF_PROGRAM'\n{program}\nEND_OF_PROGRAM\npython3 /tmp/try.py 2>&1; echo tried", **more)

    def test_raw_sockets_ipv6_dns_and_the_tool_servers_port_are_closed(self):
        text, _ = self.python(NETWORK)
        self.assertIn("own server reached", text)
        for line in ("no raw v4 EPERM", "no raw v6 EPERM", "no packet EPERM", "no tcp v6 ENETUNREACH", "no dns v4 ENETUNREACH",
                     "no tool server v4 ECONNREFUSED", "no tool server v6 ECONNREFUSED"):
            self.assertIn(line, text)

    def test_the_tool_server_that_the_student_cannot_reach_is_there_and_wants_its_token(self):
        """Without this, a refused connection would prove nothing; and a forged call gets nowhere either way."""
        forge = (
            "import urllib.request, urllib.error\n"
            "body = b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\",\"arguments\":{\"command\":\"id\"}}}'\n"
            "for headers in ({}, {'Authorization': 'Bearer guessed'}):\n"
            "    request = urllib.request.Request('http://127.0.0.1:18801/mcp', body, {'Content-Type': 'application/json',\n"
            "        'Accept': 'application/json, text/event-stream', **headers})\n"
            "    try: print('OUT', urllib.request.urlopen(request, timeout=5).read())\n"
            "    except urllib.error.HTTPError as error: print('refused with', error.code)\n"
            "    except urllib.error.URLError as error: print('not reached:', error.reason)\n"
        )
        text, document = self.python(forge, after=[{"argv": ["/usr/bin/python3", "-c", forge]}])
        self.assertEqual(text.count("not reached: "), 2, text)
        (score,) = events(document, "ScoringEvent")
        (as_root,) = score["metadata"]["commands"]
        self.assertEqual(as_root["out"].split("\n")[:2], ["refused with 401", "refused with 401"], as_root)

    def test_other_processes_can_be_neither_read_nor_signalled_nor_traced(self):
        text, _ = self.python(PROCESSES)
        self.assertIn("own processes shown True", text)

    def test_the_harness_has_no_socket_that_the_student_could_write_to(self):
        text, _ = self.python(SOCKETS)
        self.assertIn("tried", text)

    def test_set_uid_files_give_the_student_nothing(self):
        text, _ = self.student(SET_UID, keys={"extra_config": {"extra_artifact_paths": ["shell"]}})
        self.assertIn("1000\n", text)
        self.assertIn("tried", text)
        self.assertNotIn("\n0\n", text)
        saved = list(self.out.parent.rglob("shell"))
        self.assertEqual(len(saved), 1)
        self.assertEqual(saved[0].stat().st_mode & 0o6000, 0, "an artifact of the host must not be set-uid")

    def test_links_and_races_put_nothing_of_roots_into_the_artifacts(self):
        keys = {"extra_config": {"extra_artifact_paths": [
            "fine.txt", "link.txt", "linked/**", "hard.txt", "swap/**", "../root_data/secret.txt"]}}
        _, document = self.student(swapper("/workdir"), keys=keys)
        saved = [event["path"] for event in events(document, "ArtifactSavedEvent")]
        self.assertIn("fine.txt", " ".join(saved))
        found = 0
        for root, _, files in os.walk(self.out.parent):
            for name in files:
                path = os.path.join(root, name)
                self.assertFalse(os.path.islink(path), path)
                if "_artifacts" in path:
                    found += 1
                    with open(path, encoding="utf-8") as file:
                        self.assertNotIn(SECRET, file.read(), path)
        self.assertGreater(found, 0)

    def test_a_file_swapped_for_a_link_in_tmp_does_not_lead_the_file_tools_to_roots_files(self):
        """They run as the student, so a link can only lead where the student may go itself."""
        config = rooted_config(turns(
            bash("ln -s /root_data/secret.txt /tmp/a; ln -s /root /workdir/r; ln -s /etc/passwd /tmp/p; echo linked"),
            call("read_file", path="/tmp/a"), call("write_file", path="/workdir/r/x", content="x"),
            call("write_file", path="/tmp/p", content="x"), call("edit_file", path="/tmp/p", old_text="root:", new_text="x:"),
        ), run_id="races")
        _, transcripts = self.run_shell(config)
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        results = tool_results(document)
        for result in results[1:]:
            self.assertTrue(result["is_error"], result)
            self.assertNotIn(SECRET, result["text"])

    def test_what_a_step_leaves_running_is_killed_before_it_is_judged(self):
        alive = {"argv": ["/bin/sh", "-c", "for p in /proc/[0-9]*; do stat -c '%u' $p; done | grep -c -x 1000; echo looked"]}
        _, document = self.student(
            "for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP; sleep 3600' >/dev/null 2>&1 & done; "
            "sleep 0.2; pgrep -c -u 1000 sleep", after=[alive])
        first, _ = tool_results(document)
        self.assertGreaterEqual(int(first["text"]), 3, "there must be something to kill")
        (score,) = events(document, "ScoringEvent")
        self.assertEqual(score["metadata"]["commands"][0]["out"], "0\nlooked\n")
        self.assertIn("what the student left running was killed at the step's end",
                      [event["text"] for event in events(document, "LogEvent")])
        self.assertEqual(processes_of_run("hostile-root"), [])

    def test_what_a_tool_gives_back_is_bounded(self):
        """100 MB of text, and more than the wire holds; bytes that are no text; a file that is both, and a link to itself."""
        config = rooted_config(turns(
            call("give", size=50_000_000), call("give", size=100_000_000), call("give", size=4096, binary=True),
            bash("head -c 100000000 /dev/urandom > /workdir/big; ln -s loop /workdir/loop; mkdir /workdir/d; ln -s ../d /workdir/d/d"),
            call("read_file", path="/workdir/big"), call("read_file", path="/workdir/loop"),
            call("read_file", path="/workdir/d" + "/d" * 60 + "/x"), bash("cat /workdir/big; cat /workdir/loop"), bash("echo on"),
        ), run_id="bounded", extra_config={"extra_artifact_paths": ["loop", "d/**"]})
        _, transcripts = self.run_shell(config, "--memory", "1GiB", "--disk", "512MiB")
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        long, longer, binary, _, big, loop, deep, printed, last = tool_results(document)
        self.assertEqual((long["is_error"], long["truncated"]), (False, True))
        self.assertLess(len(long["text"]), 1_100_000)
        self.assertTrue(longer["is_error"])
        self.assertIn("64 MiB", longer["text"])
        self.assertIn("\ufffd", binary["text"])
        for result, why in ((big, "binary"), (loop, "symbolic links"), (deep, "symbolic links")):
            self.assertTrue(result["is_error"], result["text"][:200])
            self.assertIn(why, result["text"])
        self.assertLess(len(printed["text"]), 256 * 1024)
        self.assertEqual(last["text"].strip(), "on")

    def test_a_race_in_the_workdir_or_tmp_leads_the_file_tools_nowhere(self):
        look = {"argv": ["/bin/cat", "/root_data/secret.txt"]}
        for folder in ("/workdir", "/tmp"):
            with self.subTest(folder=folder):
                victim = f"{folder}/swap/victim.txt"
                tries = [call("read_file", path=victim) for _ in range(8)]
                tries += [call("write_file", path=victim, content="mine") for _ in range(8)]
                tries += [call("edit_file", path=victim, old_text="mine", new_text="yours") for _ in range(8)]
                self.out = self.folder / folder.strip("/") / "t.json"
                config = rooted_config(turns(bash(swapper(folder)), *tries), after=[look], run_id="swaps")
                _, transcripts = self.run_shell(config)
                document = self.only(transcripts)
                self.assert_outcome(document, "passed")
                self.assertIn("started", tool_results(document)[0]["text"])
                for result in tool_results(document):
                    self.assertNotIn(SECRET, result["text"])
                (score,) = events(document, "ScoringEvent")
                self.assertIn(SECRET, score["metadata"]["commands"][0]["out"])


@needs_root
class Watched(ChalkTest):
    def test_where_nothing_holds_the_disk_the_student_is_killed_past_its_limit_and_the_run_goes_on(self):
        """--keep leaves what was written on the host's own file system."""
        fill = bash("head -c 300000000 /dev/zero > /workdir/filler; sleep 60; echo survived", timeout_s=50)
        config = shell_config(turns(fill, bash("rm /workdir/filler; echo on")), run_id="watched")
        result, transcripts = self.run_shell(config, "--keep", "--disk", "256MiB")
        self.addCleanup(chalk, "gc")
        document = self.only(transcripts)
        self.assert_outcome(document, "passed")
        first, second = tool_results(document)
        self.assertNotIn("survived", first["text"])
        self.assertLess(first["duration_ms"], 40_000)
        self.assertEqual(second["text"].strip(), "on")
        logs = [event["text"] for event in events(document, "LogEvent")]
        self.assertTrue(any("disk watched" in text for text in logs if text.startswith("confinement: ")), logs)
        self.assertTrue(any("went over a limit that nothing else holds (disk: " in text for text in logs), logs)


if __name__ == "__main__":
    main()
