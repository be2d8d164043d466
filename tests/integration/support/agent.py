#!/usr/bin/python3
"""Plays a CLI agent inside a sandbox, as claude-code would be started: what it does is act.py beside it, which finds the
functions below. Standard library only; runs as the student."""

import http.client
import json
import os
import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).parent
TOOLS = json.loads((pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"]) / "mcp.json").read_text())["mcpServers"]["chalk"]
GATEWAY = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
SERVER = urllib.parse.urlsplit(TOOLS["url"])


def say(text):
    print(json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": str(text)}]}}), flush=True)


def end(failed=False, text="done"):
    print(json.dumps({"type": "result", "is_error": failed, "result": text}), flush=True)
    sys.exit(1 if failed else 0)


def ask(model, path="/v1/messages", headers=()):
    """One call through the gateway: (status, body)."""
    connection = http.client.HTTPConnection(GATEWAY.hostname, GATEWAY.port, timeout=30)
    body = json.dumps({"model": model, "stream": True, "max_tokens": 10, "messages": [{"role": "user", "content": "x"}]})
    connection.request("POST", path, body, {"Content-Type": "application/json", **dict(headers)})
    response = connection.getresponse()
    return response.status, response.read().decode()


class Mcp:
    """A session with the tool server, by hand."""

    def __init__(self, authorization=TOOLS["headers"]["Authorization"]):
        self.headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if authorization:
            self.headers["Authorization"] = authorization
        self.number = 0

    def post(self, method, params):
        self.number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        connection = http.client.HTTPConnection(SERVER.hostname, SERVER.port, timeout=30)
        connection.request("POST", SERVER.path, body, self.headers)
        response = connection.getresponse()
        text = response.read().decode()
        session = response.headers["Mcp-Session-Id"]
        if session:
            self.headers["Mcp-Session-Id"] = session
        if response.headers["Content-Type"] == "text/event-stream":
            lines = [line[6:] for line in text.splitlines() if line.startswith("data: ") and line[6:].strip()]
            return response.status, [json.loads(line) for line in lines]
        return response.status, [json.loads(text)] if text else []

    def begin(self):
        info = {"name": "agent", "version": "1"}
        return self.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})

    def call(self, tool, progress_token=None, **arguments):
        meta = {"_meta": {"progressToken": progress_token}} if progress_token else {}
        return self.post("tools/call", {"name": tool, "arguments": arguments, **meta})


exec((HERE / "act.py").read_text())
end()
