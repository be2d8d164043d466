"""The gateway in front of aimock, a third party's fake of all APIs, also with failures injected: whatever it does, each call
ends in one whole answer that is counted once, and the builtin agent gets its turns."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import builtin_agent  # noqa: E402
from failing_turns import check_run  # noqa: E402
from provider import KEY, GatewayTest  # noqa: E402
from support.chalk import main  # noqa: E402
from third_party import free_port, install_npm, wait_for  # noqa: E402

FIXTURES = {"fixtures": [
    {"match": {"userMessage": "use a tool"},
     "response": {"toolCalls": [{"name": "bash", "arguments": {"command": "ls"}}]}},
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello! How can I help you today?"}},
    {"match": {"userMessage": "go", "hasToolResult": False},
     "response": {"toolCalls": [{"name": "echo", "arguments": {"text": "hé"}}]}},
    {"match": {"hasToolResult": True}, "response": {"content": "done"}},
]}
LAST_WORDS = "that was all there was to do"
TOOL = {"type": "object", "properties": {"command": {"type": "string"}}}


def chat(text):
    return "/v1/chat/completions", {
        "model": "m", "stream": True, "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": text}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": TOOL}}]}


def responses(text):
    return "/v1/responses", {
        "model": "m", "stream": True, "input": [{"role": "user", "content": text}],
        "tools": [{"type": "function", "name": "bash", "parameters": TOOL}]}


def messages(text):
    return "/v1/messages", {
        "model": "m", "stream": True, "max_tokens": 100, "messages": [{"role": "user", "content": text}],
        "tools": [{"name": "bash", "input_schema": TOOL}]}


# What aimock does to the agent's second turn, one after the other. No error within a stream is among what it can do.
REFUSED = {
    "429": {"response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 0}},
    "500": {"response": {"error": {"message": "boom", "type": "server_error"}, "status": 500}},
    "529": {"response": {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529}},
    "a connection that breaks": {"response": {"content": LAST_WORDS}, "chaos": {"disconnectRate": 1.0}},
}
# The wait before each piece lets the ones before it go; an interrupted stream drops what it has not sent.
CUT = {"response": {"content": LAST_WORDS}, "latency": 20, "chunkSize": 4, "truncateAfterChunks": 3}
CASES = {**{name: ([one], 0) for name, one in REFUSED.items()}, "a stream that breaks": ([CUT], 1),
         "all": ([*REFUSED.values(), CUT, *REFUSED.values(), CUT], 2)}


def failing_fixtures(text, between):
    """The agent's two turns when it is told `text`, and what happens between them."""
    after = [*between, {"response": {"content": LAST_WORDS}}]
    return [{"match": {"userMessage": text, "hasToolResult": False},
             "response": {"toolCalls": [{"name": "echo", "arguments": {"text": "hé"}}]}},
            *({"match": {"userMessage": text, "hasToolResult": True, "sequenceIndex": number}, **one}
              for number, one in enumerate(after))]


# Twice, so that chance spares them all once in 60,000 times.
AGENT_MODELS = 2 * ["openai_compatible/m", "openai_responses/m", "anthropic/m", "gemini/m"]
LAST = {chat: "data: [DONE]", responses: "response.completed", messages: "message_stop"}


class AiMock(GatewayTest):
    def serve(self, *flags, models=AGENT_MODELS, answers=FIXTURES, **settings):
        folder = install_npm()
        fixtures = self.folder / "fixtures.json"
        fixtures.write_text(json.dumps(answers))
        port = free_port()
        server = subprocess.Popen(
            ["node", folder / "node_modules/@copilotkit/aimock/dist/cli.js", "-p", str(port), "-f", fixtures, "--strict",
             "--log-level", "silent", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"AIMOCK_API_KEYS": KEY})
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        url = f"http://127.0.0.1:{port}"
        wait_for(server, url + "/v1/models", 60)
        urls = ("OPENAI_COMPATIBLE_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        environment = self.environment() | dict.fromkeys(urls, url)
        self.start([{"models": [model]} for model in models], environment, **settings)

    def test_each_api_streams_text_and_tool_calls(self):
        self.serve()
        for number, api in enumerate((chat, responses, messages)):
            for text, said in (("hello", "Hello!"), ("use a tool", "bash")):
                path, body = api(text)
                status, headers, answer = self.ask(body, path)
                with self.subTest(path=path, text=text):
                    self.assertEqual(status, 200, answer)
                    self.assertTrue(headers["Content-Type"].startswith("text/event-stream"))
                    self.assertIn(said, answer.decode())
                    self.assertIn(LAST[api], answer.decode())
            self.assertEqual(self.spent()["requests"], 2 * (number + 1))
        self.assertGreater(self.spent()["usage"]["output"], 0)

    def agents_play(self, *flags):
        """Each API; returns how often the gateway had to try again."""
        self.serve(*flags, retries=20)
        retries = 0
        for run, model in enumerate(AGENT_MODELS):
            with self.subTest(model=model, flags=flags):
                transcript = builtin_agent.play(self, self.folder / f"{run}.sock", model)
                said = builtin_agent.assistant_messages(transcript)
                told = json.dumps(transcript["events"])[-3000:]
                self.assertEqual(transcript["outcome"]["status"], "passed", told)
                self.assertEqual([one["text"] for one in said], ["", "done"], told)
                self.assertEqual([(c["name"], c["arguments"]) for c in said[0]["tool_calls"]], [("echo", {"text": "hé"})])
                spent = self.spent(run)
                self.assertEqual((spent["requests"], spent["estimated"]), (2, 0), told)
                self.assertEqual(spent["usage"], transcript["usage"])
                retries += spent["retries"]
        return retries

    def test_the_builtin_agent_is_served_under_each_api(self):
        self.assertEqual(self.agents_play(), 0)

    def test_the_builtin_agent_is_served_though_half_of_all_connections_break(self):
        self.assertGreater(self.agents_play("--chaos-disconnect", "0.5"), 0)

    def test_the_builtin_agent_is_served_whatever_is_injected_and_no_turn_counts_twice(self):
        runs = [(model, name, f"({name}, {model})") for model in dict.fromkeys(AGENT_MODELS) for name in CASES]
        fixtures = [one for _, name, text in runs for one in failing_fixtures(text, CASES[name][0])]
        self.serve(models=[model for model, *_ in runs], answers={"fixtures": fixtures})
        for run, (model, name, text) in enumerate(runs):
            with self.subTest(name, model=model):
                between, aborted = CASES[name]
                transcript = builtin_agent.play(self, self.folder / f"{run}.sock", model, instructions=[text])
                _, spent = check_run(self, run, transcript, aborted, LAST_WORDS)
                breaks = sum("chaos" in one for one in between)  # libcurl itself may ask again then
                self.assertIn(spent["retries"], range(len(between) - aborted - breaks, len(between) - aborted + 1))

    def test_what_it_refuses_is_passed_on(self):
        self.serve(retries=0)
        path, body = chat("nobody wrote an answer to this")
        status, _, answer = self.ask(body, path)
        self.assertGreaterEqual(status, 400)
        self.assertIn("error", json.loads(answer))
        self.assertEqual(self.spent()["requests"], 0)

    def injected(self, *flags):
        self.serve(*flags, retries=20)
        for api in (chat, messages):
            for _ in range(10):
                path, body = api("hello")
                status, _, answer = self.ask(body, path)
                self.assertEqual(status, 200, answer)
                self.assertIn(LAST[api], answer.decode())
        spent = self.spent()
        self.assertEqual((spent["requests"], spent["estimated"]), (20, 0))
        self.assertGreater(spent["retries"], 0)

    def test_failures_of_the_server(self):
        self.injected("--chaos-drop", "0.5")

    def test_connections_that_break(self):
        self.injected("--chaos-disconnect", "0.5")

    def test_too_many_requests(self):
        self.injected("--chaos-ratelimit", "0.3")


if __name__ == "__main__":
    main()
