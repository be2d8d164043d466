"""200 runs wait for one slow model through the gateway: none is lost, and waiting costs next to nothing."""

import os
import pathlib
import resource
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
from provider import Answer, GatewayTest, chat_stream  # noqa: E402
from support.chalk import main  # noqa: E402

RUNS = 200
SECONDS = 5.0
MOST = 0.02  # of a core


class WaitingRuns(GatewayTest):
    def test_they_take_under_two_percent_of_a_core(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.provider.default = lambda: Answer(hold=go_on.wait)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8 * RUNS)), hard))
        process = self.start([{"models": ["openai/slow"]} for _ in range(RUNS)])
        connections = []
        for run in range(RUNS):
            connection = self.connect(run)
            connection.request("POST", "/v1/chat/completions", '{"model":"slow","stream":true}')
            connections.append(connection)
        for _ in range(RUNS):
            self.assertTrue(self.provider.arrived.acquire(timeout=60), "a request did not reach the provider")

        def used():
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before, begun = used(), time.monotonic()
        time.sleep(SECONDS)  # the span that is measured
        share = (used() - before) / (time.monotonic() - begun)
        print(f"{RUNS} waiting runs: {share * 100:.2f} % of a core")
        self.assertLess(share, MOST)
        go_on.set()
        for connection in connections:
            self.assertEqual(connection.getresponse().read().decode(), "".join(chat_stream()))
        self.assertEqual(sum(self.spent(run)["requests"] for run in range(RUNS)), RUNS)


if __name__ == "__main__":
    main()
