"""A student that is a program (a CLI agent): it has the tool server's token and a way to its model. What it cannot do with
them, and where its limits are. The program is support/agent.py in claude-code's place."""

import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "gateway"))
from confinement_test import rooted_config
from provider import KEY, Answer, Provider, message_stream
from support.chalk import ChalkTest, events, main, needs_root, tool_results

MODEL = "anthropic/m"
TOKENS_A_CALL = 35
USD_A_CALL = 0.035
STUDENTS = {"argv": ["/bin/sh", "-c", "for p in /proc/[0-9]*; do stat -c '%u' $p; done | grep -c -x 1000; echo looked"]}


class ProgramTest(ChalkTest):
    def setUp(self):
        super().setUp()
        self.provider = Provider()
        self.addCleanup(self.provider.close)
        self.provider.default = lambda: Answer(pieces=message_stream())
        self.agent = self.folder / "agent"
        self.agent.mkdir()
        self.agent.chmod(0o755)
        self.folder.chmod(0o755)
        shutil.copy(pathlib.Path(__file__).parent / "support/agent.py", self.agent)
        (self.agent / "agent.py").chmod(0o755)
        (self.folder / "prices.json").write_text('{"m": {"input": 1000, "output": 1000}}')

    def act(self, program, *, after=(), steps=1, **keys):
        """Runs `program` as the agent of each step; returns the transcript."""
        (self.agent / "act.py").write_text(program)
        config = rooted_config(*[[]] * steps, after=after, agent="claude-code", model=MODEL, use_fake_model=False,
                               agent_args={"program": "/opt/agent/agent.py"}, **keys)
        del config["fake_model"]
        _, transcripts = self.run_shell(
            config, "--mount", f"{self.agent}:/opt/agent:ro", "--prices", self.folder / "prices.json", "--memory", "1GiB",
            "--disk", "256MiB", "--overcommit", "4",
            env={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.provider.url})
        document = self.only(transcripts)
        self.assertEqual(self.provider.wrong, [])
        self.assert_outcome(document, "passed")
        return document

    def said(self, document):
        """What the program printed; a call over MCP is a message of the agent's too, without text."""
        return [event["text"] for event in events(document, "MessageEvent")
                if event["role"] == "assistant" and not event.get("tool_calls")]


COUNT = "/v1/messages/count_tokens"


def count():
    return Answer(pieces=['{"input_tokens": 17}'], headers={"Content-Type": "application/json"})


ASKS_ON = """
import time
for i in range(100):
    status, body = ask("m")
    if status != 200:
        end(True, f"API Error: {status}")
    time.sleep(0.1)
"""


@needs_root
class Limits(ProgramTest):
    """The program would ask for ten seconds; whatever is limited stops it well before, and its step is judged."""

    def limited(self, kind, program=ASKS_ON, steps=1, **limits):
        document = self.act(program, steps=steps, limits=limits)
        reached = events(document, "LimitReachedEvent")
        self.assertEqual([event["limit"] for event in reached], [kind] * steps, document["outcome"])
        self.assertEqual(len(events(document, "ScoringEvent")), steps)
        self.assertLess(len(self.provider.requests), 60)
        return reached

    def test_turns(self):
        (reached,) = self.limited("turns", max_turns=3)
        self.assertGreaterEqual(reached["value"], 3)

    def test_turns_count_anew_with_each_step_and_a_runs_are_used_up_with_it(self):
        first, second = self.limited("turns", steps=2, max_turns=3)
        self.assertIn("step 1: the limit", second["message"])
        self.assertGreaterEqual(second["value"], 3)
        self.provider.requests.clear()
        first, second = self.limited("turns", steps=2, max_run_turns=3)
        self.assertIn("step 1: the run's limit", second["message"])
        self.assertEqual(first["value"], second["value"])

    def test_tokens_of_a_step(self):
        (reached,) = self.limited("total_tokens", max_total_tokens=100)
        self.assertGreaterEqual(reached["value"], 100)

    def test_tokens_of_a_run_which_the_gateway_refuses_at_once(self):
        (reached,) = self.limited("total_tokens", max_run_total_tokens=100)
        self.assertEqual(reached["value"], 3 * TOKENS_A_CALL)
        self.assertEqual(len(self.provider.requests), 3)

    def test_dollars_of_a_step(self):
        (reached,) = self.limited("usd", max_usd=0.1)
        self.assertGreaterEqual(reached["value"], 100_000)

    def test_dollars_of_a_run_which_the_gateway_refuses_at_once(self):
        (reached,) = self.limited("usd", max_run_usd=0.1)
        self.assertEqual(reached["value"], round(3 * USD_A_CALL * 1e6))
        self.assertEqual(len(self.provider.requests), 3)

    def test_context(self):
        (reached,) = self.limited("context_tokens", max_context_tokens=30)
        self.assertEqual(reached["value"], TOKENS_A_CALL)

    def test_context_that_a_small_call_and_a_count_would_hide(self):
        """At once: within the second between two looks."""
        self.provider.script = [Answer(pieces=message_stream()), Answer(pieces=message_stream(usage=(1, 1))), count()]
        hides = f'import time; ask("m"); ask("m"); ask("m", "{COUNT}"); time.sleep(60)'
        (reached,) = self.limited("context_tokens", hides, max_context_tokens=30)
        self.assertEqual(reached["value"], TOKENS_A_CALL)

    def test_a_call_that_only_counts_is_no_turn(self):
        self.provider.script = [count() for _ in range(5)]
        document = self.act(f'for _ in range(5): say(ask("m", "{COUNT}")[0])\nsay(ask("m")[0])', limits={"max_turns": 3})
        self.assertEqual(self.said(document), ["200"] * 6)
        self.assertEqual(events(document, "LimitReachedEvent"), [])

    def test_time(self):
        self.limited("time", max_time_s=1)
        self.limited("time", max_run_time_s=1)

    def test_working_time_is_without_the_waits_for_the_model(self):
        self.limited("working_time", "import time; time.sleep(60)", max_working_time_s=1)
        self.limited("working_time", "import time; time.sleep(60)", max_run_working_time_s=1)
        self.provider.default = lambda: Answer(pieces=message_stream(), hold=lambda: time.sleep(0.8))
        waits = self.act('ask("m")', limits={"max_working_time_s": 5})  # seven pieces: the wait alone is longer
        self.assertEqual(events(waits, "LimitReachedEvent"), [])


@needs_root
class Hostile(ProgramTest):
    def test_another_model_another_api_and_other_paths_are_refused(self):
        document = self.act("""
for arguments in (("opus",), ("m", "/v1/messages", [("X-Chalk-Model", "openai/m")]), ("m", "/v1/chat/completions"),
                  ("m", "/v1/models"), ("m", "/chalk/spent"), ("m",)):
    say(ask(*arguments)[0])
""")
        self.assertEqual(self.said(document), ["403", "403", "400", "404", "404", "200"])
        self.assertEqual(len(self.provider.requests), 1)

    def test_forged_calls_and_a_flood_leave_the_tool_server_to_its_client(self):
        document = self.act("""
import socket
for authorization in (None, "Bearer guessed", "Basic x"):
    say(Mcp(authorization).begin()[0])
mcp = Mcp()
say(mcp.begin()[0])
idle = []
for i in range(600):
    try:
        one = socket.create_connection((SERVER.hostname, SERVER.port), 5)
        one.sendall([b"", b"\\x16\\x03\\x01" * 1000, b"POST /mcp HTTP/1.1\\r\\nContent-Length: 99999999\\r\\n\\r\\n", b"GET / HT"][i % 4])
        idle.append(one)
    except OSError:
        pass
for i in range(300):
    mcp.post("ping", {})
say(mcp.call("count", to=1)[1][-1]["result"]["content"][0]["text"])
say(mcp.call("bash", command="id")[1][-1])
""")
        said = self.said(document)
        self.assertEqual(said[:5], ["401", "401", "401", "200", "counted"])
        self.assertIn("unknown tool", said[5])
        self.assertEqual([result["name"] for result in tool_results(document)], ["count"])

    def test_a_process_that_stays_after_its_step_is_gone_when_the_judge_looks_and_calls_nothing(self):
        document = self.act("""
import subprocess
inner = (HERE / "agent.py").read_text().replace('exec((HERE / "act.py").read_text())', '''
mcp = Mcp(); mcp.begin()
while True:
    try: mcp.call("count", to=1)
    except Exception: pass
''')
for i in range(3):
    subprocess.Popen([sys.executable, "-c", inner.replace("__file__", repr(str(HERE / "agent.py")))], start_new_session=True,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
import time
time.sleep(1)
""", after=[STUDENTS], steps=2)
        kinds = [event["type"] for event in document["events"]]
        self.assertGreater(len(tool_results(document)), 0, "they must have called something")
        for score in events(document, "ScoringEvent"):
            self.assertEqual(score["metadata"]["commands"][0]["out"], "0\nlooked\n")
        # From a step's scoring to the next step's start nobody calls a tool.
        for start in [i for i, kind in enumerate(kinds) if kind == "ScoringEvent"]:
            following = kinds[start:]
            end = following.index("StepStartedEvent") if "StepStartedEvent" in following else len(following)
            self.assertNotIn("ToolResultEvent", following[:end])


@needs_root
class Reports(ProgramTest):
    def test_what_a_tool_of_the_environment_says_meanwhile_reaches_the_client_that_asked(self):
        document = self.act("""
mcp = Mcp()
mcp.begin()
mcp.post("logging/setLevel", {"level": "warning"})
for message in mcp.call("count", "token-1", to=3)[1]:
    say(json.dumps(message.get("params") or message["result"]["content"][0]["text"]))
""")
        said = self.said(document)
        for i in (1, 2, 3):
            self.assertIn(f'"message": "counted to {i}"', said[i - 1])
            self.assertIn('"progressToken": "token-1"', said[i - 1])
            self.assertIn('"total": 3', said[i - 1])
        self.assertIn('"data": "counted"', said[3])
        self.assertEqual(said[4], '"counted"')
        logs = [event["text"] for event in events(document, "LogEvent") if event["source"] == "environment"]
        self.assertIn("counted", logs)


if __name__ == "__main__":
    main()
