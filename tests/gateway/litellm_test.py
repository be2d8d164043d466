"""litellm's own proxy between the gateway and a provider, as users run it: it serves the builtin agent, streaming, whatever
fails on the way, and the transcript and the gateway's count agree on what was said and spent."""

import json
import os
import pathlib
import socket
import socketserver
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
from failing_turns import REFUSED, answer, broken, check  # noqa: E402
from provider import KEY, GatewayTest  # noqa: E402
from support.chalk import main  # noqa: E402
from third_party import free_port, install_pip, wait_for  # noqa: E402
from turns import chat  # noqa: E402

REQUIREMENT = "litellm[proxy]==1.60.0"  # the proxy of later ones does not start from what PyPI has
MASTER_KEY = "sk-of-the-proxy"
CUT = "cut-here"
API = "openai_compatible/m"
BROKEN = broken(API) | {
    "a proxy that goes in the middle": answer(*chat({"content": CUT}), *chat({}, "stop", (20, 2)), "data: [DONE]"),
}


class Relay(socketserver.ThreadingTCPServer):
    """Between gateway and proxy: hangs up after the event that says CUT."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Connection)
        self.port, self.cut = port, 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Connection(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as proxy:
            up = threading.Thread(target=self.pass_on, args=(self.request, proxy), daemon=True)
            up.start()
            self.pass_on(proxy, self.request)
            up.join()

    def pass_on(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                if CUT.encode() in data and sink is self.request:
                    sink.sendall(data[:data.index(b"\n\n", data.index(CUT.encode())) + 2])
                    self.server.cut += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@unittest.skipUnless(os.environ.get("CHALK_TEST_LONG"), "one of the long forms: scripts/test --all")
class LiteLlm(GatewayTest):
    def serve(self):
        programs = install_pip(REQUIREMENT)
        port = free_port()
        config = self.folder / "litellm.json"  # JSON is YAML
        config.write_text(json.dumps({
            "model_list": [{"model_name": "m", "litellm_params": {
                "model": "openai/m", "api_base": self.provider.url + "/v1", "api_key": KEY, "max_retries": 0}}],
            "litellm_settings": {"num_retries": 0, "telemetry": False},
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
            "general_settings": {"master_key": MASTER_KEY},
        }))
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with open(self.folder / "litellm.log", "w") as log:
            proxy = subprocess.Popen(
                [programs / "litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=self.folder)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        wait_for(proxy, f"http://127.0.0.1:{port}/health/liveliness", 180)
        self.relay = Relay(port)
        self.addCleanup(self.relay.close)

    def test_the_builtin_agent_is_served_and_no_turn_counts_twice(self):
        self.serve()
        cases = [("nothing", [], 0), *((name, [one], 0) for name, one in REFUSED.items()), ("all", list(REFUSED.values()), 0),
                 *((name, [one], 1) for name, one in BROKEN.items())]
        environment = self.environment() | {"OPENAI_API_KEY": MASTER_KEY}
        self.start([{"models": ["openai/m"]} for _ in cases], environment, proxy=self.relay.url)
        for run, (name, between, aborted) in enumerate(cases):
            with self.subTest(name):
                check(self, run, "openai/m", between, aborted, API)
        self.assertEqual(self.relay.cut, 1)


if __name__ == "__main__":
    main()
