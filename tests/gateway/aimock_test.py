"""The gateway in front of aimock, a third party's fake of all three APIs, also with failures injected: whatever it does,
each call ends in one whole answer that is counted once."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
from provider import KEY, GatewayTest  # noqa: E402
from support.chalk import main  # noqa: E402
from third_party import free_port, install_npm, wait_for  # noqa: E402

FIXTURES = {"fixtures": [
    {"match": {"userMessage": "use a tool"},
     "response": {"toolCalls": [{"name": "bash", "arguments": {"command": "ls"}}]}},
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello! How can I help you today?"}},
]}
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


LAST = {chat: "data: [DONE]", responses: "response.completed", messages: "message_stop"}


class AiMock(GatewayTest):
    def serve(self, *flags, **settings):
        folder = install_npm()
        fixtures = self.folder / "fixtures.json"
        fixtures.write_text(json.dumps(FIXTURES))
        port = free_port()
        server = subprocess.Popen(
            ["node", folder / "node_modules/@copilotkit/aimock/dist/cli.js", "-p", str(port), "-f", fixtures, "--strict",
             "--log-level", "silent", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"AIMOCK_API_KEYS": KEY})
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        url = f"http://127.0.0.1:{port}"
        wait_for(server, url + "/v1/models", 60)
        environment = self.environment() | {"OPENAI_COMPATIBLE_BASE_URL": url}
        self.start([{"models": ["openai_compatible/m"]}], environment, **settings)

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
