"""A strict fake of a model's provider: plays one scripted answer a request, records what it was sent, and checks that the
key is the right one. Beside it the client's side: a gateway process and HTTP over a unix socket."""

import http.client
import http.server
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

BUILD = pathlib.Path(os.environ["CHALK_BUILD"])
KEY = "marker-key-7c1f0a"


def chat_stream(text="hello", usage=(90, 20)):
    """The events of a chat completion, in OpenAI's form."""
    chunks = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": part}}]} for part in text.split()]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if usage:
        chunks.append({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


def message_stream(text="hello", usage=(10, 25)):
    """The events of a message, in Anthropic's form."""
    events = [
        {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": usage[0], "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": usage[1]}},
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def gemini_stream(text="hello", usage=(50, 30)):
    """The chunks of a model's answer, in Gemini's form."""
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}]},
              {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP", "index": 0}],
               "usageMetadata": {"promptTokenCount": usage[0], "candidatesTokenCount": usage[1]}}]
    return [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]


class Answer:
    """One scripted answer. `hold`: events are waited for before each piece; `cut`: the connection breaks at the end."""

    def __init__(self, status=200, pieces=None, headers=None, cut=False, hold=None, drop=False):
        self.status, self.headers, self.cut, self.hold, self.drop = status, headers or {}, cut, hold, drop
        self.pieces = pieces if pieces is not None else ([] if status != 200 else chat_stream())


KEY_SENT = "<the key that was sent>"  # in a piece of an answer: what the request's own header says


def error(status, headers=None):
    """As a careless server's, which repeats the header with the key."""
    body = json.dumps({"error": {"message": f"scripted {status}, for {KEY_SENT}", "type": "x", "param": None, "code": "scripted"}})
    return Answer(status, [body], {"Content-Type": "application/json", **(headers or {})})


class Provider(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.wrong = [], [], []
        self.lock = threading.Lock()
        self.default = Answer
        self.arrived = threading.Semaphore(0)
        self.gone = threading.Event()  # a client hung up while an answer was under way
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        header = {"messages": "x-api-key", "models": "x-goog-api-key"}.get(self.path.split("?")[0].split("/")[2], "authorization")
        key = headers.get(header)
        with server.lock:
            server.requests.append({"path": self.path, "headers": headers, "body": body})
            if key not in (KEY, f"Bearer {KEY}"):
                server.wrong.append(f"{self.path}: the key is {key!r}")
            answer = server.script.pop(0) if server.script else server.default()
        server.arrived.release()
        if answer.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        pieces = [piece.replace(KEY_SENT, str(key)) if isinstance(piece, str) else piece for piece in answer.pieces]
        self.send_response(answer.status)
        stream = "Content-Type" not in answer.headers
        for name, value in ({"Content-Type": "text/event-stream"} | answer.headers).items():
            self.send_header(name, value)
        if stream:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(sum(len(piece.encode()) for piece in pieces)))
        self.send_header("Set-Cookie", "secret=1")
        self.end_headers()
        try:
            for piece in pieces:
                if answer.hold is not None:
                    answer.hold()
                data = piece.encode() if isinstance(piece, str) else piece
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if stream else data)
                self.wfile.flush()
            if answer.cut:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            elif stream:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
            server.gone.set()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("gateway", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class GatewayTest(unittest.TestCase):
    """A fake provider, a gateway in front of it, and the promise that both end."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="test-chalk-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.provider = Provider()
        self.addCleanup(self.provider.close)

    def tearDown(self):
        self.assertEqual(self.provider.wrong, [])

    def environment(self):
        return {
            "PATH": os.environ["PATH"],
            "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.provider.url + "/v1",
            "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.provider.url,
            "GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": self.provider.url,
            "OPENAI_COMPATIBLE_API_KEY": KEY, "OPENAI_COMPATIBLE_BASE_URL": self.provider.url + "/v1",
        }

    def start(self, runs=None, environment=None, **settings):
        """A gateway with these runs ({"models": [...], ...}); returns the process."""
        runs = runs or [{"models": ["openai/m"]}]
        for number, run in enumerate(runs):
            run.setdefault("path", str(self.folder / f"{number}.sock"))
        self.process = subprocess.Popen(
            [BUILD / "tests/gateway/chalk_gateway_fixture", json.dumps({"runs": runs, **settings})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment or self.environment())
        self.addCleanup(self.stop, self.process)
        self.assertEqual(self.process.stdout.readline().strip(), "ready")
        return self.process

    def stop(self, process):
        if process.stdin.closed:
            return
        said = ""
        try:
            process.stdin.close()
            process.wait(timeout=30)
            said = process.stderr.read()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stderr.close()
        self.assertEqual(process.returncode, 0, said)
        self.assertNotIn(KEY, said)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def spent(self, run=0):
        return json.loads(self.tell(f"spent {run}"))

    def connect(self, run=0):
        connection = UnixConnection(self.folder / f"{run}.sock")
        self.addCleanup(connection.close)
        return connection

    def ask(self, body=None, path="/v1/chat/completions", headers=None, run=0, connection=None):
        """One call on a connection of its own; returns (status, headers, body)."""
        connection = connection or self.connect(run)
        body = {"model": "m", "stream": True} if body is None else body
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
        except BrokenPipeError:
            pass  # refused before its body was sent: the answer is there all the same
        response = connection.getresponse()
        return response.status, response.headers, response.read()
