"""`chalk cluster cert`, and Python's ssl module at its strictest, which has to agree on what the files are worth."""

import json
import os
import pathlib
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from support.chalk import CHALK, ChalkTest, chalk, main

DEADLINE_S = 20
STRICT = ssl.VERIFY_CRL_CHECK_LEAF | ssl.VERIFY_X509_STRICT
SERVER_NAME = "coordinator"
# A side that knows its own authority sends that along; the other side's complaint is about the last one of the chain.
FOREIGN = [("out", "unable to get local issuer certificate"), ("out", "self-signed certificate in certificate chain")]


class Machine:
    """What `issue` says to copy to a machine, copied."""

    def __init__(self, cluster, name, to):
        to.mkdir()
        for file in ("ca.pem", "revoked.pem", f"nodes/{name}.pem", f"nodes/{name}.key"):
            shutil.copy(cluster / file, to)
        self.folder, self.name = to, name

    def take(self, cluster, file):
        shutil.copy(cluster / file, self.folder)

    def context(self, side, checks=STRICT):
        context = ssl.SSLContext(side)
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= checks
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(self.folder / "ca.pem")
        context.load_verify_locations(self.folder / "revoked.pem")
        context.load_cert_chain(self.folder / f"{self.name}.pem", self.folder / f"{self.name}.key")
        return context


def names_of(certificate):
    return [name for kind, name in certificate["subjectAltName"] if kind == "DNS"]


def why_not(error):
    return getattr(error, "verify_message", None) or error.reason or str(error)


def meet(server, client, expected=SERVER_NAME):
    """A connection over loopback: ("in", the peer's names) or ("out", why) for the server and for the client."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(DEADLINE_S)
    seen = {}

    def serve():
        try:
            raw, _ = listener.accept()
            raw.settimeout(DEADLINE_S)
            with server.context(ssl.PROTOCOL_TLS_SERVER).wrap_socket(raw, server_side=True) as peer:
                seen["server"] = "in", names_of(peer.getpeercert())
                peer.sendall(peer.recv(5))
        except ssl.SSLError as error:
            seen["server"] = "out", why_not(error)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        raw = socket.create_connection(listener.getsockname(), timeout=DEADLINE_S)
        with client.context(ssl.PROTOCOL_TLS_CLIENT).wrap_socket(raw, server_hostname=expected) as peer:
            peer.sendall(b"hello")
            assert peer.recv(5) == b"hello", "no echo"
            seen["client"] = "in", names_of(peer.getpeercert())
    except (ssl.SSLError, ConnectionError) as error:
        seen["client"] = "out", why_not(error) if isinstance(error, ssl.SSLError) else "connection closed"
    finally:
        thread.join(2 * DEADLINE_S)
        listener.close()
    return seen["server"], seen["client"]


class Certificates(ChalkTest):
    def cluster(self, name, *nodes):
        folder = self.folder / name
        chalk("cluster", "cert", "init", "--out", folder, "--name", name, check=0)
        for node in nodes:
            self.issue(folder, node)
        return folder

    def issue(self, cluster, node, *flags, check=0):
        return chalk("cluster", "cert", "issue", node, "--cluster", cluster, *flags, check=check)

    def revoke(self, cluster, node, check=0):
        return chalk("cluster", "cert", "revoke", node, "--cluster", cluster, check=check)

    def listed(self, cluster):
        return json.loads(chalk("cluster", "cert", "list", "--cluster", cluster, "--json", check=0).stdout)

    def machine(self, cluster, name):
        return Machine(cluster, name, self.folder / f"{cluster.name}-{name}")

    def test_machines_of_one_cluster_know_each_other(self):
        fleet = self.cluster("fleet", SERVER_NAME, "node-1.x_y")
        server, client = self.machine(fleet, SERVER_NAME), self.machine(fleet, "node-1.x_y")
        self.assertEqual(meet(server, client), (("in", ["node-1.x_y"]), ("in", [SERVER_NAME])))
        # Either certificate serves on either side.
        self.assertEqual(meet(client, server, expected="node-1.x_y"), (("in", [SERVER_NAME]), ("in", ["node-1.x_y"])))

    def test_another_name_than_the_expected_one_is_refused(self):
        fleet = self.cluster("fleet", SERVER_NAME, "node1")
        node = self.machine(fleet, "node1")
        _, client = meet(node, self.machine(fleet, SERVER_NAME))
        self.assertEqual(client[0], "out")
        self.assertIn("not valid for 'coordinator'", client[1])

    def test_a_foreign_authority_is_refused_on_both_sides(self):
        ours = self.machine(self.cluster("fleet", SERVER_NAME), SERVER_NAME)
        theirs = self.machine(self.cluster("other", SERVER_NAME), SERVER_NAME)
        _, client = meet(server=theirs, client=ours)
        self.assertIn(client, FOREIGN)

        # A client that trusts both shows its own.
        theirs.folder.joinpath("ca.pem").write_bytes(
            (ours.folder / "ca.pem").read_bytes() + (theirs.folder / "ca.pem").read_bytes()
        )
        theirs.folder.joinpath("revoked.pem").write_bytes((ours.folder / "revoked.pem").read_bytes())
        server, client = meet(server=ours, client=theirs)
        self.assertIn(server, FOREIGN)
        self.assertEqual(client[0], "out")

    def test_a_revoked_machine_is_refused_once_the_list_is_copied(self):
        fleet = self.cluster("fleet", SERVER_NAME, "node1", "node2")
        server, lost, kept = (self.machine(fleet, name) for name in (SERVER_NAME, "node1", "node2"))
        said = self.revoke(fleet, "node1").stdout
        self.assertIn(f"copy {fleet}/revoked.pem", said)
        self.assertEqual(meet(server, lost)[0], ("in", ["node1"]), "the old list")

        server.take(fleet, "revoked.pem")
        self.assertEqual(meet(server, lost)[0], ("out", "certificate revoked"))
        self.assertEqual(meet(server, kept)[0], ("in", ["node2"]))
        # A machine's other side looks too.
        kept.take(fleet, "revoked.pem")
        self.assertEqual(meet(server=lost, client=kept, expected="node1")[1], ("out", "certificate revoked"))

        # The name may come back, the certificate not.
        self.issue(fleet, "node1")
        again = Machine(fleet, "node1", self.folder / "again")
        self.assertEqual(meet(server, again)[0], ("in", ["node1"]))
        self.assertEqual(meet(server, lost)[0], ("out", "certificate revoked"))

    def test_a_machine_whose_files_are_gone_is_revoked_by_name(self):
        fleet = self.cluster("fleet", SERVER_NAME, "node1")
        server, lost = self.machine(fleet, SERVER_NAME), self.machine(fleet, "node1")
        for file in (fleet / "nodes").glob("node1.*"):
            file.unlink()
        self.revoke(fleet, "node1")
        server.take(fleet, "revoked.pem")
        self.assertEqual(meet(server, lost)[0], ("out", "certificate revoked"))

    def test_the_authority_cannot_be_shown_as_a_machine(self):
        fleet = self.cluster("fleet", SERVER_NAME)
        server = self.machine(fleet, SERVER_NAME)
        shown = Machine(fleet, SERVER_NAME, self.folder / "shown")
        shutil.copy(fleet / "ca.pem", shown.folder / f"{SERVER_NAME}.pem")
        shutil.copy(fleet / "ca.key", shown.folder / f"{SERVER_NAME}.key")
        self.assertEqual(meet(server, shown)[0][0], "out")

    def test_list_says_what_became_of_each(self):
        fleet = self.cluster("fleet", "node1", "node2")
        self.revoke(fleet, "node1")
        listing = self.listed(fleet)
        self.assertEqual(listing["cluster"], "fleet")
        self.assertEqual([(one["name"], one["state"]) for one in listing["certificates"]],
                         [("node1", "revoked"), ("node2", "valid")])
        self.assertIsNone(listing["certificates"][1]["revoked"])
        serial = listing["certificates"][1]["serial"]
        self.assertRegex(serial, "^[0-9a-f]{32}$")
        page = chalk("cluster", "cert", "list", "--cluster", fleet, check=0).stdout
        self.assertRegex(page, rf"node2 +valid +\d{{4}}-\d\d-\d\d +{serial}\n")

    def test_what_cannot_be_done_is_said_and_leaves_no_trace(self):
        fleet = self.cluster("fleet", "node1")
        self.revoke(fleet, "node1")
        self.issue(fleet, "node2")
        before = {file: file.read_bytes() for file in fleet.rglob("*") if file.is_file()}
        cases = {
            "not an empty folder": ("init", "--out", fleet),
            "node2.pem is there already": ("issue", "node2", "--cluster", fleet),
            "letters, digits": ("issue", "../x", "--cluster", fleet),
            "nothing but capitals": ("issue", "Node2", "--cluster", fleet),
            "cannot outlive its authority": ("issue", "node3", "--cluster", fleet, "--days", "3700"),
            "was revoked already": ("revoke", "node1", "--cluster", fleet),
            "issued no certificate to node3": ("revoke", "node3", "--cluster", fleet),
            "is no cluster's folder": ("list", "--cluster", self.folder),
            "--cluster is required": ("issue", "node3"),
            "subcommand is required": (),
        }
        for said, arguments in cases.items():
            with self.subTest(said):
                result = chalk("cluster", "cert", *arguments, check=2)
                self.assertIn(said, result.stderr)
                self.assertEqual(result.stdout, "")
        self.assertEqual({file: file.read_bytes() for file in fleet.rglob("*") if file.is_file()}, before)

    def test_secrets_have_the_mode_of_secrets_and_are_not_printed(self):
        fleet = self.folder / "fleet"
        said = chalk("cluster", "cert", "init", "--out", fleet, check=0, preexec_fn=lambda: os.umask(0))
        said = said.stdout + self.issue(fleet, "node1").stdout
        for secret in (fleet / "ca.key", fleet / "nodes/node1.key"):
            self.assertEqual(stat.S_IMODE(secret.stat().st_mode), 0o600)
            self.assertNotIn(secret.read_text().splitlines()[1], said)
        self.assertEqual(stat.S_IMODE(fleet.stat().st_mode), 0o700)

    def test_commands_at_once_lose_nothing(self):
        fleet = self.cluster("fleet")
        names = [f"node{i}" for i in range(12)]
        started = [
            subprocess.Popen([CHALK, "cluster", "cert", "issue", name, "--cluster", fleet], stdout=subprocess.DEVNULL)
            for name in names
        ]
        self.assertEqual([process.wait(60) for process in started], [0] * len(names))
        self.assertEqual(sorted(one["name"] for one in self.listed(fleet)["certificates"]), sorted(names))

    def test_a_killed_issue_leaves_a_cluster_that_works(self):
        fleet = self.cluster("fleet", SERVER_NAME)
        server = self.machine(fleet, SERVER_NAME)
        for step in range(20):
            process = subprocess.Popen(
                [CHALK, "cluster", "cert", "issue", f"node{step}", "--cluster", fleet], stdout=subprocess.DEVNULL
            )
            try:
                process.wait(step * 0.002)  # any moment will do: what must hold, holds at each
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(60)
            known = {one["name"] for one in self.listed(fleet)["certificates"]}
            there = {file.stem for file in (fleet / "nodes").glob("[!.]*.pem")}
            self.assertLessEqual(there, known, "a certificate that cannot be revoked by name")
        self.issue(fleet, "last")
        self.assertEqual(meet(server, self.machine(fleet, "last"))[0], ("in", ["last"]))
        for name in there:
            self.revoke(fleet, name)
        states = {one["name"]: one["state"] for one in self.listed(fleet)["certificates"]}
        self.assertTrue(all(states[name] == "revoked" for name in there))


if __name__ == "__main__":
    main()
