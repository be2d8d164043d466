"""Machines on a network of the test's own: a bridge in a network namespace, and a namespace with an address for each
machine on it. Nothing of it is in the namespace of the machine that runs the tests.

The namespaces have no names. Each lives as long as a process that does nothing and ends with the test, however that ends;
links and addresses go with it. Needs root, and a kernel with bridges and virtual Ethernet."""

import ctypes
import os
import shutil
import subprocess
import threading

from support.chalk import Failed

HUB = "hub"
_CLONE_NEWNET = 0x40000000
_COMMAND_S = 20


class Unavailable(Exception):
    """What this machine lacks for it."""


class Namespace:
    """A network namespace, and who holds it."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo made; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        if self.holder.stdout.readline() != "made\n":
            why = self.holder.communicate(timeout=_COMMAND_S)[1].strip()
            raise Unavailable(f"no network namespace can be made: {why}")
        self.path = f"/proc/{self.holder.pid}/ns/net"

    def enter(self):
        """What to write before a command."""
        return ["nsenter", f"--net={self.path}"]

    def ip(self, *arguments):
        done = subprocess.run([*self.enter(), "ip", *map(str, arguments)], capture_output=True, text=True,
                              timeout=_COMMAND_S)
        if done.returncode != 0:
            raise Unavailable(f"ip {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def inside(self, function, seconds=60):
        """What `function` returns, called on a thread that is in the namespace: its sockets are."""
        said = {}

        def run():
            try:
                with open(self.path, "rb") as file:
                    libc = ctypes.CDLL(None, use_errno=True)
                    if libc.setns(file.fileno(), _CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
                said["value"] = function()
            except BaseException as error:  # for whoever asked
                said["error"] = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            raise Failed(f"not within {seconds} s: {function} in a network namespace")
        if "error" in said:
            raise said["error"]
        return said["value"]

    def close(self):
        self.holder.kill()
        self.holder.communicate(timeout=_COMMAND_S)


class Network:
    """`names` on one bridge; the hub has the first address."""

    PREFIX = "10.77.0."

    def __init__(self, names):
        self.spaces = {}
        self.addresses = {HUB: self.PREFIX + "1"}
        try:
            self._make(names)
        except BaseException:
            self.close()
            raise

    def _make(self, names):
        if os.geteuid() != 0:
            raise Unavailable("needs root: run the tests as root")
        for program in ("ip", "nsenter", "unshare", "setpriv"):
            if not shutil.which(program):
                raise Unavailable(f"no {program}: install iproute2 and util-linux")
        hub = self.spaces[HUB] = Namespace()
        hub.ip("link", "set", "lo", "up")
        hub.ip("link", "add", "bridge", "type", "bridge")
        hub.ip("addr", "add", self.addresses[HUB] + "/24", "dev", "bridge")
        hub.ip("link", "set", "bridge", "up")
        for number, name in enumerate(names, 11):
            space = self.spaces[name] = Namespace()
            self.addresses[name] = f"{self.PREFIX}{number}"
            hub.ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space.holder.pid)
            hub.ip("link", "set", name, "master", "bridge", "up")
            space.ip("link", "set", "lo", "up")
            space.ip("addr", "add", self.addresses[name] + "/24", "dev", "eth0")
            space.ip("link", "set", "eth0", "up")

    def add_addresses(self, name, count):
        """More addresses for one machine: what comes from them is, to the others, of many."""
        made = [f"{self.PREFIX}{number}" for number in range(100, 100 + count)]
        for address in made:
            self.spaces[name].ip("addr", "add", address + "/24", "dev", "eth0")
        return made

    def cut(self, name):
        """Both ways: its cable is pulled."""
        self.spaces[HUB].ip("link", "set", name, "down")

    def mend(self, name):
        self.spaces[HUB].ip("link", "set", name, "up")

    def cut_to_hub(self, name):
        """What the machine sends is lost, acknowledgements too; what is sent to it arrives."""
        self.spaces[name].ip("route", "replace", "blackhole", self.addresses[HUB] + "/32")

    def mend_to_hub(self, name):
        self.spaces[name].ip("route", "del", "blackhole", self.addresses[HUB] + "/32")

    def cut_from_hub(self, name):
        self.spaces[HUB].ip("route", "replace", "blackhole", self.addresses[name] + "/32")

    def mend_from_hub(self, name):
        self.spaces[HUB].ip("route", "del", "blackhole", self.addresses[name] + "/32")

    def close(self):
        for space in self.spaces.values():
            space.close()
        self.spaces = {}
