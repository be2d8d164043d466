"""A cluster to whose sweep something happens: a node is killed, stopped, cut off, short of disk or started again, the line
is bad, the coordinator is killed. Always: one outcome for each run, none counted twice, no two attempts of one run alive
at once by the stamps that they leave outside chalk, and nothing left on any node.

Half a minute to more than a minute each: all of them with CHALK_TEST_LONG, one with CHALK_TEST_FAULT."""

import os
import signal
import subprocess
import sys
import time

from support.chalk import SOURCE, eventually, main
from support.cluster import LEASE_S, LOST_WITHIN_S, PORT, ClusterTest, fleet_sweep

LONG = bool(os.environ.get("CHALK_TEST_LONG"))
RUNS = 1000 if LONG else 150
AT_ONCE = "8" if LONG else "2"  # on each node; a sweep then takes about as long as two leases and a start
# Longer than a node may go on when it is cut off, so that it has to kill them.
LONG_S = 2 * LEASE_S
MIB = 1 << 20
DISK = 512 * MIB
_FAULTS = []


def fault(test):
    """One that CHALK_TEST_FAULT may name."""
    _FAULTS.append(test.__name__.removeprefix("test_"))
    return test


class Faults(ClusterTest):
    def setUp(self):
        name = self._testMethodName.removeprefix("test_")
        chosen = os.environ.get("CHALK_TEST_FAULT")
        if chosen and chosen not in _FAULTS:
            self.fail(f"CHALK_TEST_FAULT={chosen}: expected one of {', '.join(_FAULTS)}")
        if name != chosen if chosen else not LONG:
            self.skipTest("CHALK_TEST_LONG=1 for all, CHALK_TEST_FAULT=NAME for one")
        super().setUp()

    def start_nodes(self, **of_one):
        for name in self.NODES:
            self.node(name, "--max-concurrent", AT_ONCE, **of_one.get(name, {}))

    def start_sweep(self, long_s=LONG_S):
        # No more than run at once, so that no node has a queue of them when something happens to it.
        self.coordinator(fleet_sweep(RUNS, stamps=self.stamps, long_s=long_s, at_once=int(AT_ONCE) * len(self.NODES)))
        self.wait_for(lambda: all(self.asked(f"select 1 from attempt where node = '{name}' and ended_ms is not null")
                                  for name in self.NODES), 60, "every node has ended a run")
        self.wait_for_ended(RUNS // 10)

    def wait_until_it_runs_something(self, name):
        self.wait_for(lambda: self.asked(f"select 1 from attempt where node = '{name}' and ended_ms is null"), 30,
                      f"{name} runs something")

    def finish(self):
        self.finish_sweep()
        attempts = self.check_whole(RUNS)
        self.check_stamps(attempts)
        self.end_nodes()
        return attempts

    def lost_on(self, attempts, name):
        return [row for row in attempts if row["node"] == name and not row["counts"]]

    @fault
    def test_a_node_is_killed(self):
        with self.told():
            self.start_nodes()
            self.start_sweep()
            self.wait_until_it_runs_something("node2")
            self.kill("node2")
            self.wait_until_lost("node2")
            self.assertTrue(self.lost_on(self.finish(), "node2"), "what it ran was run again elsewhere")

    @fault
    def test_a_node_is_stopped_for_longer_than_its_lease(self):
        with self.told():
            self.start_nodes()
            # Without sandboxes nobody ends a run whose node is stopped; short ones end by themselves.
            self.start_sweep(long_s=0)
            leases = len(self.leases("node2"))
            self.wait_until_it_runs_something("node2")
            node = self.programs["node2"]
            node.signal(signal.SIGSTOP)
            self.wait_until_lost("node2")
            node.signal(signal.SIGCONT)
            self.wait_until_back("node2", leases)
            self.finish()

    def cut_off(self, cut, mend):
        with self.told():
            self.start_nodes()
            self.start_sweep()
            leases = len(self.leases("node2"))
            self.wait_until_it_runs_something("node2")
            cut("node2")
            self.wait_until_lost("node2")
            mend("node2")
            self.wait_until_back("node2", leases)
            self.finish()

    @fault
    def test_a_link_is_cut_both_ways(self):
        self.cut_off(self.network.cut, self.network.mend)

    @fault
    def test_a_link_is_cut_from_the_node_to_the_coordinator(self):
        self.cut_off(self.network.cut_to_hub, self.network.mend_to_hub)

    @fault
    def test_a_link_is_cut_from_the_coordinator_to_the_node(self):
        self.cut_off(self.network.cut_from_hub, self.network.mend_from_hub)

    @fault
    def test_a_link_is_cut_for_less_than_a_lease_and_nothing_is_run_again(self):
        with self.told():
            self.start_nodes()
            self.start_sweep()
            self.wait_until_it_runs_something("node2")
            leases = self.leases("node2")
            self.network.cut("node2")
            others = self.ended_on("node1") + self.ended_on("node3")
            self.wait_for(lambda: self.ended_on("node1") + self.ended_on("node3") > others, LEASE_S, "others went on")
            self.network.mend("node2")
            attempts = self.finish()
            self.assertEqual([one[0] for one in self.leases("node2")], [one[0] for one in leases], "it kept its lease")
            self.assertEqual(self.lost_on(attempts, "node2"), [])

    def ended_on(self, name):
        return self.asked(f"select count(*) from attempt where node = '{name}' and ended_ms is not null")[0][0]

    def relay(self, number, name):
        """Between that node and the coordinator, on the coordinator's side; returns where the node has to go."""
        here = f"{self.at.rsplit(':', 1)[0]}:{PORT + number}"
        relay = self.begin(f"relay of {name}", self.hub, sys.executable, SOURCE / "tests/integration/support/relay.py", here,
                           self.at)
        eventually(lambda: "listening" in relay.text(), 20, f"the relay of {name} listens")
        return here

    @fault
    def test_a_line_is_slow_and_loses_what_it_carries_and_breaks(self):
        with self.told():
            ways = {name: {"join": self.relay(number, name)} for number, name in enumerate(self.NODES, 1)}
            self.start_nodes(**ways)
            self.start_sweep()
            for number, name in enumerate(self.NODES, 2):
                self.wait_for_ended(RUNS * number // 8, 120)
                self.programs[f"relay of {name}"].signal(signal.SIGUSR1)
            self.finish()

    @fault
    def test_a_disk_of_a_node_is_full(self):
        folder = self.folder_of("node2")
        folder.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "chalk-test", folder], check=True, capture_output=True)
        self.addCleanup(self.unmount, folder)
        with self.told():
            self.start_nodes()
            self.start_sweep()
            self.wait_until_it_runs_something("node2")
            with (folder / "ballast").open("wb", buffering=0) as file:
                try:
                    while file.write(bytes(MIB)):
                        pass
                except OSError:
                    pass
            held = self.ended_on("node1") + self.ended_on("node3")
            self.wait_for(lambda: self.ended_on("node1") + self.ended_on("node3") >= min(held + 30, RUNS - 20), 60,
                          "the others go on")
            (folder / "ballast").unlink()
            self.finish()

    def unmount(self, folder):
        for program in self.programs.values():
            program.close()
        eventually(lambda: subprocess.run(["umount", folder], capture_output=True).returncode == 0, 20,
                   "the small disk is unmounted")

    @fault
    def test_a_node_is_killed_and_started_again_under_its_name(self):
        with self.told():
            self.start_nodes()
            self.start_sweep()
            leases = len(self.leases("node2"))
            self.wait_until_it_runs_something("node2")
            self.kill("node2")
            self.node("node2", "--max-concurrent", AT_ONCE)
            self.wait_for(lambda: len(self.leases("node2")) > leases, LOST_WITHIN_S, "node2 has a lease of its own again")
            began = self.started_on("node2")
            self.wait_for(lambda: self.started_on("node2") > began, 30, "node2 is given runs again")
            self.finish()

    @fault
    def test_the_coordinator_is_killed_and_resumed(self):
        with self.told():
            self.start_nodes()
            self.start_sweep()
            leases = {name: len(self.leases(name)) for name in self.NODES}
            done = self.ended()
            self.kill("coordinator")
            self.resume()
            self.wait_for_ended(done + 1)
            attempts = self.finish()
            self.assertEqual({name: len(self.leases(name)) for name in self.NODES}, leases, "each node kept its lease")
            self.assertEqual([row for row in attempts if not row["counts"]], [], "nothing was run again")

    @fault
    def test_the_coordinator_is_away_for_longer_than_a_lease(self):
        with self.told():
            self.start_nodes()
            self.start_sweep()
            self.kill("coordinator")
            went = time.monotonic()

            def all_is_quiet():
                """No stamp for a second, when every lease is over."""
                quiet_s = time.time() - self.stamps.stat().st_mtime
                return time.monotonic() - went > LEASE_S and quiet_s > 1

            eventually(all_is_quiet, LOST_WITHIN_S, "the nodes have stopped their runs")
            self.resume()
            self.finish()


if __name__ == "__main__":
    main()
