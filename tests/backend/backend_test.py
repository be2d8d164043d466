"""The backend sink and the external agent, as a user meets them, against the reference server."""

import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from reference_server import DROP, DROP_TAKEN, Backend, Fault, Server
from support.chalk import (
    SOURCE, ChalkTest, bash, chalk, end, events, eventually, main, needs_root, shell_config, start, transcript, turns,
)

TOKEN = "marker-token-5e21c9"
HELLO = SOURCE / "examples/hello"
NAMESPACES = ("--runtime", "namespaces")
HERE = ("--no-containerized",)


class TunnelProxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy that makes tunnels, whatever host they are for, to one port of this machine."""

    daemon_threads = True

    def __init__(self, port, status=200):
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.port, self.status, self.asked = port, status, []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def stop(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """One side went away."""


class Tunnel(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode().strip()
        headers = {}
        while text := self.rfile.readline().decode().strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        self.server.asked.append((line, headers.get("proxy-authorization")))
        if self.server.status != 200:
            self.wfile.write(f"HTTP/1.1 {self.server.status} No\r\nContent-Length: 0\r\n\r\n".encode())
            return
        with socket.create_connection(("127.0.0.1", self.server.port)) as far:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self.pump, args=(far, self.request), daemon=True)
            back.start()
            self.pump(self.request, far)
            back.join()

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side went away


class BackendTest(ChalkTest):
    """A server that is not started yet, and a place of its own for spools."""

    def setUp(self):
        super().setUp()
        self.env = {"XDG_STATE_HOME": str(self.folder / "state"), "CHALK_BACKEND_TOKEN": TOKEN}
        self.backend = Backend(TOKEN)
        self.server = Server(self.backend)
        self.addCleanup(self.server.stop)

    def uri(self, scheme="http"):
        return f"{scheme}://{self.server.address}/runs"

    def config(self, *steps, scheme="http", **keys):
        return shell_config(*steps, backend_uri=self.uri(scheme), **keys)

    def run_with(self, config, *flags, **options):
        result, transcripts = self.run_shell(config, *(flags or HERE), env={**self.env, **options.pop("env", {})}, **options)
        return result, self.only(transcripts)

    def spools(self):
        return sorted((self.folder / "state/chalk/backend").glob("*"))

    def send(self, *flags, **options):
        return chalk("backend", "send", "--json", *flags, env={**self.env, **options.pop("env", {})}, **options)

    def assert_all_delivered(self, document, spools=0):
        """The backend has the run's events as its transcript has them, each once."""
        self.assertEqual(self.backend.problems, [])
        stream = self.backend.only()
        self.assertEqual(stream.events, document["events"])
        self.assertEqual(stream.run_id, document["run"]["run_id"])
        self.assertEqual(len(self.spools()), spools, self.spools())


class Sink(BackendTest):
    def test_events_arrive_over_http_and_websockets_and_the_token_is_nowhere(self):
        self.server.start()
        for scheme in ("http", "ws"):
            with self.subTest(scheme=scheme):
                self.backend.streams.clear()
                result, document = self.run_with(
                    self.config(turns(bash("env; echo $PPID; tr '\\0' '\\n' < /proc/$PPID/environ")), scheme=scheme))
                self.assert_outcome(document, "passed")
                self.assert_all_delivered(document)
                self.assertNotIn(TOKEN, result.stdout + result.stderr + json.dumps(document))

    def certify(self, name):
        """A server's key and certificate for `name` in one file, beside ca.pem; None where openssl is missing."""
        if shutil.which("openssl") is None:
            return None
        certificate = self.folder / "server.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=backend",
             "-addext", f"subjectAltName={name}", "-keyout", certificate, "-out", self.folder / "ca.pem"],
            check=True, capture_output=True, timeout=60)
        with certificate.open("a", encoding="utf-8") as file:
            file.write((self.folder / "ca.pem").read_text(encoding="utf-8"))
        return certificate

    def test_tls_is_checked(self):
        self.server.certificate = self.certify("IP:127.0.0.1")
        if self.server.certificate is None:
            self.skipTest("openssl is missing: apt install openssl")
        self.server.start()
        for scheme in ("https", "wss"):
            with self.subTest(scheme=scheme):
                self.backend.streams.clear()
                _, document = self.run_with(
                    self.config(scheme=scheme), env={"SSL_CERT_FILE": str(self.folder / "ca.pem")})
                self.assert_all_delivered(document)
        self.backend.streams.clear()
        for scheme in ("https", "wss"):
            with self.subTest(untrusted=scheme):
                _, document = self.run_with(self.config(scheme=scheme))
                self.assert_outcome(document, "passed")
                self.assertEqual(self.backend.streams, {}, "nothing goes to whom nobody vouches for")

    def test_websockets_go_through_the_proxy_of_the_environment(self):
        # A name that nobody but the proxy knows: what arrives has come through it.
        proxy = TunnelProxy(self.server.server_address[1])
        self.addCleanup(proxy.stop)
        certified = self.certify("DNS:backend.invalid")
        if certified:
            self.server.certificate = certified
        self.server.start()
        scheme, variable = ("wss", "https_proxy") if certified else ("ws", "http_proxy")
        config = shell_config(turns(bash("echo 1")), backend_uri=f"{scheme}://backend.invalid:8700/runs")
        env = {variable: f"http://me:p%40ss@{proxy.address}", "no_proxy": "", "NO_PROXY": "",
               "SSL_CERT_FILE": str(self.folder / "ca.pem")}
        _, document = self.run_with(config, env=env)
        self.assert_outcome(document, "passed")
        self.assert_all_delivered(document)
        self.assertTrue(proxy.asked)
        for line, authorization in proxy.asked:
            self.assertEqual(line, "CONNECT backend.invalid:8700 HTTP/1.1")
            self.assertEqual(authorization, "Basic " + base64.b64encode(b"me:p@ss").decode())

    def test_a_proxy_that_refuses_or_cannot_be_used_is_named_without_its_password(self):
        proxy = TunnelProxy(self.server.server_address[1], status=407)
        self.addCleanup(proxy.stop)
        self.server.start()
        config = shell_config(turns(bash("echo 1")), backend_uri="ws://backend.invalid:8700/runs")
        for address, level, words in [(f"http://me:hidden@{proxy.address}", "error", f"HTTP 407 from the proxy {proxy.address}"),
                                      (f"socks5://me:hidden@{proxy.address}", "warning", "http_proxy names no proxy")]:
            with self.subTest(words=words):
                _, document = self.run_with(config, env={"http_proxy": address, "no_proxy": "", "NO_PROXY": ""})
                self.assert_outcome(document, "passed")
                said = [event for event in events(document, "LogEvent") if event["source"] == "backend"]
                self.assertEqual(said[0]["level"], level, said)
                self.assertIn(words, said[0]["text"])
                self.assertNotIn("hidden", json.dumps(document))
        self.assertEqual(self.backend.streams, {})

    @needs_root
    def test_errors_and_dropped_connections_lose_and_reorder_nothing(self):
        self.server.start()
        for scheme in ("http", "ws"):
            with self.subTest(scheme=scheme):
                self.backend.streams.clear()
                self.backend.faults["Events"].extend([Fault(500), DROP_TAKEN, DROP, Fault(200, body=b"<html>")])
                _, document = self.run_with(self.config(turns(bash("echo 1"), bash("echo 2")), scheme=scheme), *NAMESPACES)
                self.assert_outcome(document, "passed")
                eventually(lambda: not self.backend.faults["Events"] or self.spools(), 5, "the faults were met")
                if self.spools():
                    sent = self.send()
                    self.assertEqual(sent.returncode, 0, sent.stdout + sent.stderr)
                self.assert_all_delivered(document)
                self.assertGreater(self.backend.only().duplicates, 0, "what was taken without an answer came again")

    def test_a_server_that_starts_late_gets_all(self):
        gate = self.folder / "gate"
        config = self.config(turns(bash(f"until [ -e {gate} ]; do sleep 0.05; done", timeout_s=100)))
        process = start("run", "--config", json.dumps(config), "--out", self.out, "--no-ui", *HERE, cwd=self.folder,
                        env={**os.environ, **self.env})
        self.addCleanup(end, process)
        eventually(lambda: self.spools() and "StepStartedEvent" in self.spools()[0].read_text(), 60, "events are spooled")
        listed = json.loads(chalk("backend", "list", "--json", env=self.env, check=0).stdout)
        self.assertTrue(listed[0]["in_use"], "a living run's spool is its own")
        self.server.start()
        eventually(lambda: self.backend.streams and self.backend.only().events, 60, "the server has events")
        gate.touch()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        document = transcript(self.out)
        self.assert_all_delivered(document)
        said = [event for event in events(document, "LogEvent") if event["source"] == "backend"]
        self.assertEqual([event["level"] for event in said], ["warning", "info"], said)

    @needs_root
    def test_a_server_that_is_away_changes_nothing_and_gets_all_later(self):
        result, document = self.run_with(self.config(), *NAMESPACES)
        self.assert_outcome(document, "passed")
        (spool,) = self.spools()
        self.assertIn(str(spool), result.stdout + result.stderr)
        self.assertNotIn(TOKEN, spool.read_text())
        listed = json.loads(chalk("backend", "list", "--json", env=self.env, check=0).stdout)
        self.assertEqual([(one["file"], one["left"]) for one in listed], [(str(spool), len(document["events"]))])
        again = chalk("run", "--config", json.dumps(shell_config()), "--out", self.folder / "o/t.json", *HERE, env=self.env,
                      cwd=self.folder, check=0)
        self.assertIn("chalk backend send", again.stdout + again.stderr)
        self.assertEqual(self.send("--wait", "1").returncode, 1)
        self.assertEqual(self.spools(), [spool])
        self.server.start()
        self.assertEqual(self.send().returncode, 0)
        self.assert_all_delivered(document)
        self.assertEqual(json.loads(self.send().stdout), [])

    def test_a_server_that_stalls_delays_no_outcome(self):
        self.backend.stalling.set()
        self.server.start()
        process = start("run", "--config", json.dumps(self.config()), "--out", self.out, "--no-ui", *HERE, cwd=self.folder,
                        env={**os.environ, **self.env})
        self.addCleanup(end, process)
        eventually(self.out.exists, 60, "the transcript is written, whatever the backend does")
        said, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        document = transcript(self.out)
        self.assert_outcome(document, "passed")
        (spool,) = self.spools()
        self.assertIn(str(spool), said + _)
        self.backend.stalling.clear()
        self.assertEqual(self.send().returncode, 0)
        self.assert_all_delivered(document)

    def test_a_refused_token_is_told_once_and_the_events_are_kept(self):
        self.server.start()
        for scheme in ("http", "ws"):
            with self.subTest(scheme=scheme):
                self.backend.streams.clear()
                wrong = {"CHALK_BACKEND_TOKEN": "wrong"}
                _, document = self.run_with(self.config(turns(bash("echo 1")), scheme=scheme), env=wrong)
                self.assert_outcome(document, "passed")
                said = [event for event in events(document, "LogEvent") if event["source"] == "backend"]
                self.assertEqual([event["level"] for event in said], ["error"], said)
                self.assertIn("401", said[0]["text"])
                self.assertEqual(self.send(env=wrong).returncode, 1)
                self.assertEqual(self.send().returncode, 0)
                self.assert_all_delivered(document)

    def test_a_backend_that_repeats_the_token_gets_it_into_no_log(self):
        self.server.start()
        for scheme in ("http", "ws"):
            with self.subTest(scheme=scheme):
                # Where the quotation ends, a part of it would be left.
                said = b"x" * (200 - len(TOKEN) // 2) + TOKEN.encode()
                self.backend.faults["Events"].extend([Fault(200, body=said), Fault(400 if scheme == "http" else 200, body=said)])
                result, document = self.run_with(self.config(turns(bash("echo 1")), scheme=scheme))
                self.assert_outcome(document, "passed")
                told = [event["text"] for event in events(document, "LogEvent") if event["source"] == "backend"]
                self.assertTrue(any("xxx" in text for text in told), told)
                for text in (result.stdout, result.stderr, json.dumps(document)):
                    self.assertNotIn(TOKEN[:8], text)

    def test_a_chalk_that_is_killed_loses_no_event(self):
        gate = self.folder / "gate"
        config = self.config(turns(bash(f"until [ -e {gate} ]; do sleep 0.05; done", timeout_s=100)))
        process = start("run", "--config", json.dumps(config), "--out", self.out, "--no-ui", *HERE, cwd=self.folder,
                        env={**os.environ, **self.env})
        eventually(lambda: self.spools() and "StepStartedEvent" in self.spools()[0].read_text(), 60, "events are spooled")
        end(process, signal.SIGKILL)
        gate.touch()
        kept = [json.loads(line) for line in self.spools()[0].read_text().splitlines()[1:]]
        self.server.start()
        self.assertEqual(self.send().returncode, 0)
        self.assertEqual(self.backend.problems, [])
        self.assertEqual(self.backend.only().events, kept)
        self.assertEqual(self.spools(), [])

    def test_an_address_with_a_password_is_refused_and_not_repeated(self):
        refused = chalk("run", "--config", json.dumps(shell_config(backend_uri="https://me:hidden@b/")), check=2)
        self.assertIn("CHALK_BACKEND_TOKEN", refused.stderr)
        self.assertNotIn("hidden", refused.stderr)


class ExternalAgent(BackendTest):
    """Hello's task: greet the world with the tool."""

    def hello(self, scheme="http", **keys):
        return {"environment": str(HELLO), "run_id": "hello", "agent": "external", "backend_uri": self.uri(scheme), **keys}

    @staticmethod
    def greets(request):
        if request["turn"] == 0:
            return {"text": "I greet.", "tool_calls": [{"name": "greet", "arguments": {"name": "world"}}]}
        return {"text": "Done.", "usage": {"input": 7, "output": 2}}

    def assert_greeted(self, document):
        self.assert_outcome(document, "passed")
        self.assertEqual(document["steps"][0]["score"], 1)
        self.assert_all_delivered(document)
        last = self.backend.requests[-1]
        self.assertEqual([one["role"] for one in last["messages"]], ["system", "user", "assistant", "tool"])
        self.assertEqual(last["messages"][3]["text"], "Hello, world!")
        self.assertIn("greet", [tool["name"] for tool in last["tools"]])
        self.assertEqual(last["stream"], next(iter(self.backend.streams)))
        said = [event for event in events(document, "MessageEvent") if event["role"] == "assistant"]
        self.assertEqual([event["text"] for event in said], ["I greet.", "Done."])

    @needs_root
    def test_it_works_on_a_task_in_a_sandbox_through_waits_and_reconnects(self):
        self.server.start()
        for scheme in ("http", "ws"):
            with self.subTest(scheme=scheme):
                self.backend.streams.clear()
                self.backend.requests.clear()
                # Of the first turn one answer is lost and one is "not yet"; in the middle the connection breaks.
                before = {0: [None, None], 1: [DROP]}
                self.backend.answer = lambda request: (
                    before[request["turn"]].pop() if before[request["turn"]] else self.greets(request))
                self.backend.faults["NextMessage"].extend([DROP, Fault(503), DROP_TAKEN])
                _, document = self.run_with(self.hello(scheme), *NAMESPACES)
                self.assert_greeted(document)
                asked = [request["request"] for request in self.backend.requests]
                self.assertEqual(asked, ["0-0"] * 3 + ["0-1"] * 2, "a repeat is the same request")

    def test_it_works_without_a_sandbox_and_with_a_server_that_starts_late(self):
        self.backend.answer = self.greets
        process = start("run", "--config", json.dumps(self.hello()), "--out", self.out, "--no-ui", *HERE, cwd=self.folder,
                        env={**os.environ, **self.env})
        self.addCleanup(end, process)
        eventually(lambda: self.spools() and "StepStartedEvent" in self.spools()[0].read_text(), 60, "the step began")
        self.server.start()
        process.communicate(timeout=60)
        document = transcript(self.out)
        self.assert_greeted(document)

    def test_a_wrong_message_is_an_error_of_the_model_that_names_its_place(self):
        self.server.start()
        for wrong, place in [
            ({"text": 7}, "message.text"),
            ({TOKEN: 7}, "[key removed]"),
            ({"tool_calls": [{"name": "greet", "arguments": "{}"}]}, "message.tool_calls[0].arguments"),
            (Fault(200, body=b"not JSON"), "not JSON"),
            (Fault(403), "403"),
        ]:
            with self.subTest(place=place):
                self.backend.answer = lambda request, wrong=wrong: wrong
                _, document = self.run_with(self.hello(), check=1)
                self.assert_outcome(document, "error", "model")
                self.assertIn(place, document["outcome"]["error"]["message"])

    def test_a_limit_on_time_ends_the_wait(self):
        self.server.start()
        _, document = self.run_with(self.hello(limits={"max_time_s": 1}))
        (limit,) = events(document, "LimitReachedEvent")
        self.assertEqual(limit["limit"], "time")
        self.assertTrue(self.backend.requests)

    def test_it_needs_a_backend(self):
        config = {**self.hello(), "backend_uri": ""}
        self.assertIn("backend_uri", chalk("run", "--config", json.dumps(config), *HERE, check=2).stderr)


if __name__ == "__main__":
    main()
