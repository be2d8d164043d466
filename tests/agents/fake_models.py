"""A model that plays one script over four APIs: chat completions, Responses, Anthropic messages and Gemini.

The script is a list of turns, {"tool": NAME, "arguments": {...}} or {"text": ...}. Which turn comes next follows from
the conversation in the request: one for every tool result that it holds. It is strict: a request without the tool that
a turn wants to call, or without the key, is answered with an error that says so, and is kept in `complaints`.
"""

import http.server
import json
import re
import threading

END = {"text": "Done."}


class FakeModels:
    def __init__(self, script, key):
        self.script = script
        self.key = key
        self.requests = []
        self.complaints = []
        handler = type("Handler", (Handler,), {"models": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def turn(self, results):
        return self.script[results] if results < len(self.script) else END


def full_name(wanted, offered):
    """Agents put a prefix before the tools of an MCP server: mcp__chalk__x, chalk_x, mcp_chalk_x."""
    for name in offered:
        if name == wanted or re.search(rf"chalk[_./]+{re.escape(wanted)}$", name):
            return name
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    models = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer_json(404, {"error": {"message": f"no such page {self.path}"}})

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.split("?")[0]
        self.models.requests.append((path, body))
        sent = self.headers.get("Authorization", "") + self.headers.get("x-api-key", "") + self.headers.get("x-goog-api-key", "")
        if self.models.key and self.models.key not in sent:
            self.models.complaints.append(f"{path}: without the key")
            return self.answer_json(401, {"error": {"message": "no key", "type": "authentication_error"}})
        for pattern, answer in (
            (r"/v1/chat/completions$", self.chat), (r"/v1/responses$", self.responses_api),
            (r"/v1/messages$", self.anthropic), (r"/v1/messages/count_tokens$", self.count_tokens),
            (r":(streamG|g)enerateContent$", self.gemini), (r":countTokens$", self.gemini_tokens),
        ):
            if re.search(pattern, path):
                return answer(body)
        self.models.complaints.append(f"unknown path {path}")
        return self.answer_json(404, {"error": {"message": f"unknown path {path}"}})

    def choose(self, results, offered):
        """The turn to play; a call that cannot be made becomes text, and a complaint. Requests without tools are side
        errands (titles, summaries)."""
        if not offered:
            return {"text": "A title"}
        turn = self.models.turn(results)
        if "tool" not in turn:
            return turn
        name = full_name(turn["tool"], offered)
        if name is None:
            self.models.complaints.append(f"no tool {turn['tool']} among {offered}")
            return END
        return {"name": name, "arguments": turn["arguments"], "id": f"call_{results}"}

    # Chat completions.

    def chat(self, body):
        offered = [tool["function"]["name"] for tool in body.get("tools", [])]
        results = sum(message["role"] == "tool" for message in body["messages"])
        turn = self.choose(results, offered)
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        if "name" in turn:
            call = {"id": turn["id"], "type": "function",
                    "function": {"name": turn["name"], "arguments": json.dumps(turn["arguments"])}}
            message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        else:
            message, reason = {"role": "assistant", "content": turn["text"]}, "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return self.answer_json(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        if "tool_calls" in message:
            message["tool_calls"][0]["index"] = 0
        chunks = [
            {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**base, "choices": [], "usage": usage},
        ]
        self.stream([f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"])

    # Responses.

    def responses_api(self, body):
        offered = []
        namespaces = {}
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                for inner in tool.get("tools", []):
                    offered.append(tool["name"] + inner["name"] if tool["name"].endswith("__") else f"{tool['name']}__{inner['name']}")
                    namespaces[offered[-1]] = (tool["name"], inner["name"])
            elif "name" in tool:
                offered.append(tool["name"])
        results = sum(item.get("type") == "function_call_output" for item in body.get("input", []) if isinstance(item, dict))
        turn = self.choose(results, offered)
        if "name" in turn:
            item = {"type": "function_call", "id": f"fc_{results}", "call_id": turn["id"], "name": turn["name"],
                    "arguments": json.dumps(turn["arguments"]), "status": "completed"}
            if turn["name"] in namespaces:
                item["namespace"], item["name"] = namespaces[turn["name"]]
        else:
            item = {"type": "message", "id": f"m_{results}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": turn["text"], "annotations": []}]}
        response = {"id": f"r_{results}", "object": "response", "status": "in_progress", "model": body["model"], "output": []}
        usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
        events = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "status": "completed", "output": [item], "usage": usage}},
        ]
        self.stream([f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': i})}\n\n"
                     for i, event in enumerate(events)])

    # Anthropic messages.

    def anthropic(self, body):
        offered = [tool["name"] for tool in body.get("tools", []) if "name" in tool]
        results = sum(
            block.get("type") == "tool_result" for message in body["messages"] if isinstance(message["content"], list)
            for block in message["content"]
        )
        turn = self.choose(results, offered)
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": f"msg_{results}", "type": "message", "role": "assistant", "model": body["model"], "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        if "name" in turn:
            block = {"type": "tool_use", "id": "toolu_" + turn["id"], "name": turn["name"], "input": turn["arguments"]}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn["arguments"])}
            reason, start = "tool_use", {**block, "input": {}}
        else:
            block = {"type": "text", "text": turn["text"]}
            delta, reason, start = {"type": "text_delta", "text": turn["text"]}, "end_turn", {"type": "text", "text": ""}
        if not body.get("stream"):
            return self.answer_json(200, {**message, "content": [block], "stop_reason": reason})
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        self.stream([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events])

    def count_tokens(self, _):
        self.answer_json(200, {"input_tokens": 10})

    # Gemini.

    def gemini(self, body):
        offered = [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        results = sum("functionResponse" in part for content in body["contents"] for part in content.get("parts", []))
        turn = self.choose(results, offered)
        part = {"functionCall": {"name": turn["name"], "args": turn["arguments"]}} if "name" in turn else {"text": turn["text"]}
        answer = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        }
        if ":generateContent" in self.path:
            return self.answer_json(200, answer)
        self.stream([f"data: {json.dumps(answer)}\r\n\r\n"])

    def gemini_tokens(self, _):
        self.answer_json(200, {"totalTokens": 10})

    # Answers.

    def answer_json(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, pieces):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            data = piece.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
