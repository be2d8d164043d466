"""A sweep on a cluster: three nodes with addresses of their own run it, whoever makes the connections; and the
coordinator's port lets nobody else in, however many come and whatever they say.

CHALK_TEST_LONG makes it a thousand runs and a thousand strangers."""

import json
import os
import secrets
import signal
import ssl
import subprocess
import threading
import time

from support import strangers
from support.chalk import chalk, main
from support.cluster import PORT, SANITIZED, ClusterTest, cpu_seconds, fleet_sweep, memory_bytes
from support.network import HUB

LONG = bool(os.environ.get("CHALK_TEST_LONG"))
RUNS = 1000 if LONG else 150
ROUNDS = 30 if LONG else 4
SILENT = 1000 if LONG else 200
JOINS_WITHIN_S = 5 if SANITIZED else 2
MIB = 1 << 20
ENDLESS_S = 3600


class Clusters(ClusterTest):
    def test_three_nodes_run_a_sweep_and_each_run_has_one_outcome(self):
        with self.told():
            for name in self.NODES:
                self.node(name, "--max-concurrent", "8", "--label", f"name={name}")
            self.coordinator(fleet_sweep(RUNS, work_s=0.1, stamps=self.stamps))
            self.finish_sweep()
            attempts = self.check_whole(RUNS)
            self.check_stamps(attempts)
            self.assertEqual([row for row in attempts if row["attempt"] != 1], [], "nothing was disturbed")
            for name in self.NODES:
                self.assertGreater(self.started_on(name), 0, f"{name} had a part in it")
            self.end_nodes()

    def test_a_sweep_comes_to_nodes_that_listen_and_they_take_the_next_one_too(self):
        with self.told():
            names = self.NODES[:2]
            for name in names:
                self.node(name, "--listen", f"{self.network.addresses[name]}:{PORT}", "--max-concurrent", "4")
            towards = [word for name in names for word in ("--node", f"{self.network.addresses[name]}:{PORT}")]
            for number in (1, 2):
                self.sweep = self.folder / f"sweep{number}"
                self.coordinator(fleet_sweep(40, work_s=0.1, at_once=8, name=f"fleet{number}"), *towards, listen=False)
                self.finish_sweep(90)
                self.check_whole(40)
                for name in names:
                    self.assertGreater(self.started_on(name), 0, f"{name} had a part in sweep {number}")
            self.end_nodes()

    def test_ctrl_c_ends_a_sweep_in_order_and_a_resume_finds_its_nodes_again(self):
        with self.told():
            for name in self.NODES:
                self.node(name, "--max-concurrent", "2")
            coordinator = self.coordinator(fleet_sweep(60, stamps=self.stamps))
            self.wait_for_ended(10)
            coordinator.signal(signal.SIGINT)
            self.assertEqual(coordinator.finish(30), 130)
            self.assertEqual(self.open_leases(), [], "the nodes gave their leases up")
            self.assertLess(self.counted(), 60)
            self.resume()
            self.finish_sweep(120)
            self.check_stamps(self.check_whole(60))
            self.end_nodes()

    def test_nodes_that_start_and_end_with_each_small_sweep_make_one_link_each_and_leave_nothing(self):
        """What goes wrong now and then between a start and an end has many of both to do so."""
        for number in range(ROUNDS):
            self.sweep = self.folder / f"sweep{number}"
            with self.told():
                for name in self.NODES:
                    self.node(name, "--max-concurrent", "8")
                self.coordinator(fleet_sweep(30, work_s=0.05, at_once=9, name=f"fleet{number}"))
                self.finish_sweep(90)
                for name in self.NODES:
                    self.assertNotIn("took its place", self.programs[name].text(), f"{name} dialled beside a link that stood")
                self.check_whole(30)
                self.end_nodes()


class Strangers(ClusterTest):
    NODES = ("node1", "node2", "outside")
    PEERS = ("revoked", "unlisted", "bomber")
    HONEST = ("node1", "node2")

    def setUp(self):
        super().setUp()
        chalk("cluster", "cert", "revoke", "revoked", "--cluster", self.fleet, check=0)
        self.foreign = self.folder / "foreign"
        self.make_certificates(self.foreign, ["node1"])
        self.address = (self.network.addresses[HUB], PORT)
        self.outside = self.network.spaces["outside"]
        self.allow = [word for name in (*self.HONEST, "bomber") for word in ("--allow", name)]

    def join_in_time(self, name):
        began = time.monotonic()
        self.node(name, "--max-concurrent", "4")
        self.wait_for(lambda: self.leases(name), 30, f"{name} has a lease")
        took = time.monotonic() - began
        self.assertLess(took, JOINS_WITHIN_S, f"{name} joined late")

    def keep_silent(self, count, coming_again=True):
        """From another thread until it is told to stop; returns how. Without `coming_again` they say nothing ever, and who
        is hung up on stays away."""
        sources = self.network.add_addresses("outside", 20)
        stop, full = threading.Event(), threading.Event()
        said = []

        def keep():
            silent = strangers.Silent(self.address, count, sources)
            try:
                while not stop.wait(0.05):
                    if coming_again or not full.is_set():
                        silent.tick()
                    if coming_again:
                        silent.drip(b"\x16")  # how a handshake begins, and never goes on
                    if silent.made >= count:
                        full.set()
            finally:
                silent.close()

        def run():
            try:
                self.outside.inside(keep, 300)
            except BaseException as error:
                said.append(error)
                full.set()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def end():
            stop.set()
            thread.join(30)
            if said:
                raise said[0]

        self.addCleanup(stop.set)
        self.assertTrue(full.wait(60), f"{count} silent connections were made")
        return end

    def refusals(self):
        """(who, how the port has to answer, how it did)"""
        random_bytes = secrets.token_bytes(4096)
        old = ssl.TLSVersion.TLSv1_2
        cases = [
            ("no certificate", None, strangers.context_of()),
            ("a foreign authority's", None, strangers.context_of(self.foreign, "node1")),
            ("a revoked one", None, strangers.context_of(self.fleet, "revoked")),
            ("a name that is not allowed", "N", strangers.context_of(self.fleet, "unlisted")),
            ("no channel", None, strangers.context_of(self.fleet, "node1", channel=None)),
            ("another channel", None, strangers.context_of(self.fleet, "node1", channel="h2")),
            ("an older TLS", None, strangers.context_of(self.fleet, "node1", highest=old)),
        ]
        for who, expected, context in cases:
            answer = self.outside.inside(lambda: strangers.call_on(self.address, context))
            yield who, expected, answer
        for who, data in (("random bytes", random_bytes), ("half a handshake", b"\x16\x03\x01\xff\xff" + random_bytes),
                          ("a web request", b"GET / HTTP/1.1\r\n\r\n")):
            yield who, None, self.outside.inside(lambda: strangers.send_raw(self.address, data))

    def check_listeners(self):
        """On the coordinator's network there is one port and, for another user of its machine, no socket at all."""
        script = ("import json, os, socket, sys\n"
                  "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
                  "tcp = [l.split() for f in ('tcp', 'tcp6') for l in open('/proc/net/' + f).readlines()[1:]]\n"
                  "ports = sorted({int(w[1].rsplit(':', 1)[1], 16) for w in tcp if w[3] == '0A'})\n"
                  "udp = [l.split()[1] for f in ('udp', 'udp6') for l in open('/proc/net/' + f).readlines()[1:]]\n"
                  "names = sorted({l.split()[7] for l in open('/proc/net/unix').readlines()[1:] if len(l.split()) > 7})\n"
                  "entered = []\n"
                  "for name in names:\n"
                  "    one = socket.socket(socket.AF_UNIX)\n"
                  "    try:\n"
                  "        one.connect('\\0' + name[1:] if name[0] == '@' else name); entered.append(name)\n"
                  "    except OSError: pass\n"
                  "print(json.dumps([ports, udp, entered]))\n")
        done = subprocess.run([*self.hub.enter(), "/usr/bin/python3", "-c", script], capture_output=True, text=True,
                              timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), [[PORT], [], []])

    def test_no_stranger_joins_a_running_sweep_and_an_honest_node_does_meanwhile(self):
        with self.told():
            coordinator = self.coordinator(fleet_sweep(RUNS, work_s=0.4), *self.allow)
            self.node("node1", "--max-concurrent", "4")
            self.wait_for_ended(10)
            before = memory_bytes(coordinator.pid)
            end_silence = self.keep_silent(SILENT)
            self.join_in_time("node2")
            for who, expected, answer in self.refusals():
                with self.subTest(who=who):
                    self.assertNotEqual(answer, "A")
                    if expected:
                        self.assertEqual(answer, expected)
            bomb = b"\xff" * 65536
            answer = self.outside.inside(
                lambda: strangers.call_on(self.address, strangers.context_of(self.fleet, "bomber"), then=bomb))
            self.assertNotEqual(answer, "A", "a header that claims too much ends the connection")
            self.check_refused_nodes()
            self.check_listeners()
            grown = memory_bytes(coordinator.pid) - before
            self.assertLess(grown, 50 * MIB, "the coordinator has grown")
            end_silence()
            self.finish_sweep()
            self.check_whole(RUNS)
            self.assertEqual({name for name, in self.asked("select distinct node from lease")}, set(self.HONEST))
            self.end_nodes()

    def check_refused_nodes(self):
        """chalk itself, with a certificate that is no good here; it says why and tries again."""
        for who, fleet, said in (("unlisted", self.fleet, "not"), ("revoked", self.fleet, "revoked")):
            node = self.node(who, tls=fleet)
            self.wait_for(lambda: "tried again" in node.text() or not node.runs(), 30, f"{who} says that it was refused")
            self.assertIn(said, node.text())
            if node.runs():
                node.signal(signal.SIGTERM)
                node.finish(30)

    def test_strangers_who_hold_their_connections_cost_an_idle_coordinator_no_time(self):
        with self.told():
            coordinator = self.coordinator(fleet_sweep(4, work_s=ENDLESS_S), *self.allow)
            self.node("node1", "--max-concurrent", "4")
            self.wait_for(lambda: self.asked("select count(*) from attempt where node = 'node1'") == [(4,)], 60,
                          "all runs wait for their model")
            end_silence = self.keep_silent(SILENT, coming_again=False)
            idle_s = 3
            began = cpu_seconds(coordinator.pid)
            time.sleep(idle_s)  # the time that the cpu time is held against
            used = cpu_seconds(coordinator.pid) - began
            end_silence()
            self.assertLess(used / idle_s, 0.15 if SANITIZED else 0.05)
            coordinator.signal(signal.SIGINT)
            self.assertEqual(coordinator.finish(30), 130)
            self.end_nodes()


if __name__ == "__main__":
    main()
