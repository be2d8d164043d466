"""A strict fake of the four model APIs behind a gateway, on a unix socket or a port of loopback.

Each request takes the next answer of a script. A request that a real provider would refuse (roles in the wrong order, a
call without its result, reasoning that was tampered with) is answered with 400 and noted in `violations`.
"""

import http.server
import json
import pathlib
import re
import socketserver
import threading


def sse(*events, end="\n"):
    """Events as a provider sends them, `end` being its line break."""
    out = b""
    for event in events:
        if isinstance(event, dict):
            name = f"event: {event['type']}{end}" if "type" in event else ""
            event = f"{name}data: {json.dumps(event)}"
        out += f"{event}{end}{end}".encode()
    return out


class Answer:
    """`broken` closes the connection in the middle of the body; `hold` keeps it open and silent until the client goes."""

    def __init__(self, body=b"", status=200, headers=None, broken=False, hold=False, piece=None, drop=False):
        self.body, self.status, self.headers = body, status, headers or {}
        self.broken, self.hold, self.piece, self.drop = broken, hold, piece, drop


def need(condition, why):
    if not condition:
        raise ValueError(why)


def check_results(calls_then_results):
    """Every call has one result before anything else is said."""
    open_calls = []
    for kind, ids in calls_then_results:
        if kind == "calls":
            need(not open_calls, f"calls without results: {open_calls}")
            need(len(set(ids)) == len(ids) and all(ids), f"ids of calls are unique: {ids}")
            open_calls = list(ids)
        elif kind == "results":
            for one in ids:
                need(one in open_calls, f"a result without its call: {one}")
                open_calls.remove(one)
        else:
            need(not open_calls, f"calls without results: {open_calls}")
    need(not open_calls, f"calls without results: {open_calls}")


def check_chat(body):
    need(body["stream"] is True and body["stream_options"] == {"include_usage": True}, "stream with usage")
    seen = []
    for one in body["messages"]:
        need(one["role"] in ("system", "user", "assistant", "tool"), f"role {one['role']}")
        if one["role"] == "tool":
            seen.append(("results", [one["tool_call_id"]]))
        elif one.get("tool_calls"):
            for call in one["tool_calls"]:
                need(isinstance(json.loads(call["function"]["arguments"]), dict), "arguments are an object")
            seen.append(("calls", [call["id"] for call in one["tool_calls"]]))
        else:
            need(one["content"], "a message says something")
            seen.append(("said", []))
    check_results(seen)


def check_messages(body):
    need(body["stream"] is True and body["max_tokens"] > 0, "stream and max_tokens")
    roles = [one["role"] for one in body["messages"]]
    need(roles[::2] == ["user"] * len(roles[::2]) and roles[1::2] == ["assistant"] * len(roles[1::2]),
         f"roles alternate, user first: {roles}")
    seen = []
    for one in body["messages"]:
        need(one["content"], "a message has blocks")
        calls, results = [], []
        for block in one["content"]:
            if block["type"] == "tool_use":
                need(isinstance(block["input"], dict), "input is an object")
                calls.append(block["id"])
            elif block["type"] == "tool_result":
                results.append(block["tool_use_id"])
            elif block["type"] == "text":
                need(block["text"].strip(), "text is not blank")
            elif block["type"] == "thinking":
                need(block["signature"] == "signed:" + block["thinking"], "thinking is unchanged")
        need(one["content"][-1]["type"] != "thinking", "a message does not end in thinking")
        seen.append(("calls", calls) if calls else ("results", results) if results else ("said", []))
    check_results(seen)


def check_responses(body):
    need(body["stream"] is True and body["store"] is False, "stream, and store is false")
    need("reasoning.encrypted_content" in body["include"], "reasoning is asked for")
    items = body["input"]
    open_calls = []
    for i, one in enumerate(items):
        if one["type"] == "reasoning":
            need(one["encrypted_content"].startswith("enc:"), "reasoning is encrypted")
            need(i + 1 < len(items) and items[i + 1]["type"] in ("message", "function_call")
                 and items[i + 1].get("role") != "user", "reasoning goes before what it led to")
        else:
            need("id" not in one, "ids are not kept")
        if one["type"] == "function_call":
            json.loads(one["arguments"])
            open_calls.append(one["call_id"])
        elif one["type"] == "function_call_output":
            need(one["call_id"] in open_calls, "a result without its call")
            open_calls.remove(one["call_id"])
    need(not open_calls, f"calls without results: {open_calls}")


def check_gemini(body):
    roles = [one["role"] for one in body["contents"]]
    need(roles[::2] == ["user"] * len(roles[::2]) and roles[1::2] == ["model"] * len(roles[1::2]),
         f"roles alternate, user first: {roles}")
    open_calls = []
    for one in body["contents"]:
        need(one["parts"], "a content has parts")
        results = [part["functionResponse"] for part in one["parts"] if "functionResponse" in part]
        need([(r["name"], r.get("id")) for r in results] == open_calls, f"each call has its result at once: {open_calls}")
        need(all(isinstance(r["response"], dict) for r in results), "a response is an object")
        calls = [part for part in one["parts"] if "functionCall" in part]
        open_calls = [(part["functionCall"]["name"], part["functionCall"].get("id")) for part in calls]
        for part in calls:
            need(isinstance(part["functionCall"]["args"], dict), "args are an object")
            need(part["thoughtSignature"] == "signed:" + part["functionCall"]["name"], "a call keeps its signature")
    need(not open_calls, f"calls without results: {open_calls}")


CHECKS = {"/v1/chat/completions": check_chat, "/v1/messages": check_messages, "/v1/responses": check_responses}


def check(path, full_model, body):
    """A request as its provider would: the API's rules, and that header and request name one model."""
    gemini = re.fullmatch(r"/v1beta/models/([^/:]+):streamGenerateContent\?alt=sse", path)
    need(gemini or path in CHECKS, f"path {path}")
    need(full_model.split("/", 1)[1] == (gemini[1] if gemini else body["model"]), "the model is named twice")
    (check_gemini if gemini else CHECKS[path])(body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "client"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_POST(self):
        provider = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        problem = None
        try:
            parsed = json.loads(body)
            for secret in ("Authorization", "X-Api-Key", "X-Goog-Api-Key"):
                need(secret not in self.headers, "the harness holds no key")
            check(self.path, self.headers["X-Chalk-Model"], parsed)
        except (ValueError, KeyError, TypeError) as error:
            problem = f"{type(error).__name__}: {error}"
        with provider.lock:
            provider.requests.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
            if problem:
                provider.violations.append(problem)
                answer = Answer(json.dumps({"error": {"message": problem, "type": "invalid_request_error"}}).encode(), 400,
                                {"Content-Type": "application/json"})
            elif not provider.script:
                provider.violations.append("a request past the script")
                answer = Answer(b"{}", 500)
            else:
                answer = provider.script.pop(0)
        self.give(answer)

    def give(self, answer):
        if answer.drop:
            self.close_connection = True
            return
        self.send_response(answer.status)
        headers = {"Content-Type": "text/event-stream", **answer.headers}
        streamed = answer.status == 200
        headers["Transfer-Encoding" if streamed else "Content-Length"] = "chunked" if streamed else str(len(answer.body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if not streamed:
            self.wfile.write(answer.body)
            return
        size = answer.piece or max(len(answer.body), 1)
        try:
            for at in range(0, len(answer.body), size):
                part = answer.body[at:at + size]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if answer.hold:
                self.server.held.set()
                self.rfile.read(1)  # until the client goes
                self.server.gone.set()
                self.close_connection = True
            elif answer.broken:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.gone.set()
            self.close_connection = True


class State:
    daemon_threads = True
    allow_reuse_address = True

    def prepare(self, script):
        self.script, self.requests, self.violations = list(script), [], []
        self.connections = 0
        self.lock = threading.Lock()
        self.held, self.gone = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


class UnixProvider(State, socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    pass


class TcpProvider(State, socketserver.ThreadingMixIn, socketserver.TCPServer):
    pass


def on_socket(path, script):
    pathlib.Path(path).unlink(missing_ok=True)
    return UnixProvider(str(path), Handler).prepare(script)


def on_port(script):
    return TcpProvider(("127.0.0.1", 0), Handler).prepare(script)
