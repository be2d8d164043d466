"""A strict backend (docs/protocols/backend.md), over HTTP and websockets on one port. Standard library only.

It holds a client to the protocol: order, gaps, duplicates that differ, token, idempotency key; what is broken is in
`problems`. It can be told to refuse, to stall and to drop connections. By hand:

    CHALK_BACKEND_TOKEN=secret python3 tests/backend/reference_server.py --port 8700 [--answers FILE]

prints the events that come. FILE is a list of messages that an external agent gets, one after the other.
"""

import argparse
import base64
import collections
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import socket
import ssl
import struct
import threading

WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Stream:
    """What is known of one attempt at one run."""

    def __init__(self, message):
        self.run_id, self.attempt = message["run_id"], message["attempt"]
        self.events = []
        self.duplicates = 0


class Fault:
    """What happens to one request instead of an answer. `takes`: what it brought was taken before."""

    def __init__(self, status=None, takes=False, body=None, headers=None):
        self.status, self.takes, self.body, self.headers = status, takes, body, headers or {}


DROP = Fault()  # the connection ends without a word
DROP_TAKEN = Fault(takes=True)


class Backend:
    """The state behind all connections. `answer` is given a NextMessage and returns a message, or None for not yet."""

    def __init__(self, token, answer=None, told=None):
        self.token, self.answer = token, answer
        self.told = told or (lambda event: None)
        self.streams, self.problems, self.requests = {}, [], []
        self.faults = {"Events": collections.deque(), "NextMessage": collections.deque()}
        self.stalling = threading.Event()  # set: no request is answered
        self.over = threading.Event()
        self.lock = threading.Lock()

    def problem(self, text):
        self.problems.append(text)

    def allows(self, authorization):
        """None, or the status of the refusal."""
        wanted = f"Bearer {self.token}"
        return None if hmac.compare_digest((authorization or "").encode(), wanted.encode()) else 401

    def handle(self, message, key=None):
        """The answer to one message, or the fault that takes its place."""
        if self.stalling.is_set():
            self.over.wait()
            return DROP
        with self.lock:
            kind = message.get("type")
            if kind not in self.faults:
                self.problem(f"unknown type {kind!r}")
                return Fault(400)
            for name, of in (("stream", str), ("run_id", str), ("attempt", int)):
                if not isinstance(message.get(name), of):
                    self.problem(f"{kind} without {name}")
                    return Fault(400)
            fault = self.faults[kind].popleft() if self.faults[kind] else None
            if fault and not fault.takes:
                return fault
            answer = self.take_events(message, key) if kind == "Events" else self.next_message(message)
            return fault or answer

    def take_events(self, message, key):
        stream = self.streams.setdefault(message["stream"], Stream(message))
        if (stream.run_id, stream.attempt) != (message["run_id"], message["attempt"]):
            self.problem("a stream changed its run")
        events = message.get("events")
        if not isinstance(events, list) or not events:
            self.problem("no events")
            return Fault(400)
        if key is not None and key != f"{message['stream']}-{events[0]['seq']}-{events[-1]['seq']}":
            self.problem(f"idempotency key {key!r}")
        for event in events:
            seq = event["seq"]
            if seq <= len(stream.events):
                stream.duplicates += 1
                if stream.events[seq - 1] != event:
                    self.problem(f"event {seq} came again and differs")
            elif seq == len(stream.events) + 1:
                stream.events.append(event)
                self.told(event)
            else:
                self.problem(f"a gap: event {seq} after event {len(stream.events)}")
        return {"type": "Acknowledged", "seq": len(stream.events)}

    def next_message(self, message):
        for name, of in (("request", str), ("step", int), ("turn", int), ("messages", list), ("tools", list)):
            if not isinstance(message.get(name), of):
                self.problem(f"NextMessage without {name}")
                return Fault(400)
        self.requests.append(message)
        answer = self.answer(message) if self.answer else None
        if answer is None:
            return {"type": "Waiting"}
        if isinstance(answer, Fault):
            return answer
        return {"type": "Message", "request": message["request"], "message": answer}

    def only(self):
        (stream,) = self.streams.values()
        return stream


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def refuse(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        backend = self.server.backend
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        refused = backend.allows(self.headers.get("Authorization"))
        if refused:
            self.refuse(refused)
            return
        if self.headers.get("Content-Type") != "application/json" or not self.headers.get("Idempotency-Key"):
            backend.problem(f"headers {dict(self.headers)}")
        message = json.loads(body)
        answer = backend.handle(message, self.headers["Idempotency-Key"] if message.get("type") == "Events" else None)
        if not isinstance(answer, Fault):
            self.refuse(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})
        elif answer.status:
            self.refuse(answer.status, answer.body or b"scripted", answer.headers)
        else:
            self.close_connection = True

    def do_GET(self):
        backend = self.server.backend
        refused = backend.allows(self.headers.get("Authorization"))
        if refused or self.headers.get("Upgrade", "").lower() != "websocket":
            self.refuse(refused or 426)
            return
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + WEBSOCKET_GUID).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.end_headers()
        self.close_connection = True
        while (text := self.read_message()) is not None:
            answer = backend.handle(json.loads(text))
            if not isinstance(answer, Fault):
                self.write_frame(TEXT, json.dumps(answer).encode())
            elif answer.body is not None:
                self.write_frame(TEXT, answer.body)
            else:
                return  # of a status a websocket knows nothing

    def read_frame(self):
        head = self.rfile.read(2)
        if len(head) < 2:
            return None
        final, kind, size = head[0] & 0x80, head[0] & 0x0F, head[1] & 0x7F
        if not head[1] & 0x80:
            self.server.backend.problem("a frame without a mask")
        if size > 125:
            size = struct.unpack("!H" if size == 126 else "!Q", self.rfile.read(2 if size == 126 else 8))[0]
        mask, data = self.rfile.read(4), self.rfile.read(size)
        return final, kind, bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))

    def read_message(self):
        """The next text message; None: the client is gone."""
        parts = []
        while frame := self.read_frame():
            final, kind, data = frame
            if kind == CLOSE:
                self.write_frame(CLOSE, data[:2])
                return None
            if kind == PING:
                self.write_frame(PONG, data)
            elif kind != PONG:
                parts.append(data)
                if final:
                    return b"".join(parts)
        return None

    def write_frame(self, kind, data):
        size = len(data)
        head = bytes([0x80 | kind]) + (bytes([size]) if size < 126 else struct.pack("!BH", 126, size) if size < 65536
                                       else struct.pack("!BQ", 127, size))
        self.wfile.write(head + data)
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, backend, port=0, certificate=None):
        # Bound, so that the port is ours, but nobody can connect before start().
        super().__init__(("127.0.0.1", port), Handler, bind_and_activate=False)
        self.allow_reuse_address = True
        self.server_bind()
        self.backend = backend
        self.certificate = certificate

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def start(self):
        self.server_activate()
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.started = True
        return self

    started = False

    def stop(self):
        self.backend.over.set()
        if self.started:
            self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that went away in the middle of an answer is no problem of the server's."""

    def shutdown_request(self, request):
        try:
            request.shutdown(socket.SHUT_RDWR)  # also for a thread that reads from it
        except OSError:
            pass
        self.close_request(request)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8700)
    parser.add_argument("--answers", type=pathlib.Path)
    options = parser.parse_args()
    answers = json.loads(options.answers.read_text(encoding="utf-8")) if options.answers else []
    given = {}

    def answer(request):
        # By the request, so that one that is repeated gets the same.
        number = given.setdefault((request["stream"], request["request"]), len(given))
        return answers[number] if number < len(answers) else None

    backend = Backend(os.environ["CHALK_BACKEND_TOKEN"], answer, lambda event: print(json.dumps(event), flush=True))
    server = Server(backend, options.port).start()
    print(f"listening: http://{server.address} and ws://{server.address}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop()
    for problem in backend.problems:
        print("PROBLEM:", problem)


if __name__ == "__main__":
    main()
