"""The builtin agent's loop and the real model client against a strict fake provider: what is in the transcript, what the
provider was asked, and that no turn counts twice."""

import json
import pathlib
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import builtin_agent  # noqa: E402
from builtin_agent import assistant_messages  # noqa: E402
from fake_provider import Answer, on_port, on_socket, sse  # noqa: E402
from turns import DIALECTS, chat, chat_call, chat_turns, messages_turns  # noqa: E402


class AgentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.socket = pathlib.Path(folder.name) / "gateway.sock"

    def start(self, *args, **plan):
        agent = builtin_agent.start(*args, **plan)
        self.addCleanup(agent.stdout.close)
        self.addCleanup(agent.stdin.close)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def play(self, *args, **plan):
        return builtin_agent.play(self, *args, **plan)

    def run_script(self, script, *args, **plan):
        with on_socket(self.socket, script) as provider:
            transcript = self.play(self.socket, *args, **plan)
        self.assertEqual(provider.violations, [])
        self.assertEqual(provider.script, [])
        return transcript, provider

    def test_each_api_plays_a_task_in_pieces_of_any_size(self):
        for model, turns in DIALECTS.items():
            for piece, end in ((None, "\n"), (1, "\r\n"), (7, "\r")):
                with self.subTest(model=model, piece=piece):
                    script = [Answer(sse(*turn, end=end), piece=piece) for turn in turns()]
                    transcript, provider = self.run_script(script, model, 2)
                    self.assertEqual(transcript["outcome"]["status"], "passed")
                    self.assertEqual([step["turns"] for step in transcript["steps"]], [2, 1])
                    self.assertEqual(transcript["usage"], {"input": 60, "cached": 0, "output": 8, "reasoning": 0})
                    said = assistant_messages(transcript)
                    self.assertEqual(said[0]["reasoning"], "hm")
                    self.assertEqual(said[0]["tool_calls"], [{"id": "call_a", "name": "echo",
                                                              "arguments": {"text": "hé"}}])
                    self.assertEqual([one["text"] for one in said], ["", "done", "bye"])
                    result = [e for e in transcript["events"] if e["type"] == "ToolResultEvent"]
                    self.assertEqual([(e["text"], e["is_error"]) for e in result], [("hé", False)])
                    self.assertEqual(provider.connections, 1, "the connection is kept")
                    self.assertEqual({r["headers"]["X-Chalk-Model"] for r in provider.requests}, {model})
                    self.assertIn("hm", json.dumps(provider.requests[1]["body"]), "reasoning goes back")

    def test_a_stream_that_breaks_is_asked_for_again_and_counts_once(self):
        for model, turns in DIALECTS.items():
            for broken in ({"broken": True}, {}):
                with self.subTest(model=model, **broken):
                    whole = turns()
                    script = [Answer(sse(*whole[0])), Answer(sse(*whole[1][:-1 if model[0] != "o" else -2]), **broken),
                              Answer(sse(*whole[1]))]
                    if model.startswith("openai_responses"):
                        script[1].body = sse({"type": "response.output_text.delta", "output_index": 0, "delta": "do"})
                    elif model.startswith("openai"):
                        script[1].body = sse(*chat({"content": "do"}))
                    transcript, provider = self.run_script(script, model)
                    said = assistant_messages(transcript)
                    self.assertEqual([one.get("aborted", False) for one in said], [False, True, False])
                    self.assertIn(said[1]["text"], ("do", "done"))
                    self.assertEqual(transcript["steps"][0]["turns"], 2)
                    self.assertEqual(provider.requests[1]["body"], provider.requests[2]["body"])
                    self.assertEqual(transcript["outcome"]["status"], "passed")
                    spent = [one["usage"]["input"] + one["usage"]["output"] for one in said]
                    self.assertGreater(spent[1], 0)
                    self.assertEqual(transcript["usage"]["input"] + transcript["usage"]["output"], sum(spent))

    def test_an_error_in_the_stream_aborts_it(self):
        overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        for model, turns in DIALECTS.items():
            with self.subTest(model=model):
                half = sse(turns()[0][0], overloaded)
                transcript, _ = self.run_script([Answer(half), Answer(sse(*turns()[1]))], model)
                self.assertEqual([one.get("aborted", False) for one in assistant_messages(transcript)], [True, False])

    def test_a_fourth_broken_stream_in_a_row_ends_the_run(self):
        transcript, _ = self.run_script([Answer(b"")] * 4)
        self.assertEqual(transcript["outcome"]["error"]["class"], "model")
        self.assertIn("finish_reason", transcript["outcome"]["error"]["message"])
        self.assertEqual(transcript["steps"][0]["turns"], 0)

    def test_a_connection_that_ends_without_a_response_is_an_aborted_turn(self):
        transcript, _ = self.run_script([Answer(drop=True), Answer(sse(*chat_turns()[1]))])
        self.assertEqual([one.get("aborted", False) for one in assistant_messages(transcript)], [True, False])

    def test_a_refused_request_is_sent_once_and_ends_the_run(self):
        for status in (400, 401, 429, 500, 529):
            with self.subTest(status=status):
                body = json.dumps({"error": {"message": "no", "type": "t", "code": "c"}}).encode()
                transcript, provider = self.run_script([Answer(body, status, {"x-request-id": "req_1"})])
                self.assertEqual(len(provider.requests), 1)
                error = transcript["outcome"]["error"]
                self.assertEqual(error["class"], "model")
                self.assertIn(f"HTTP {status}: c: no (request req_1)", error["message"])
                self.assertEqual(assistant_messages(transcript), [])

    def test_a_budget_that_is_spent_ends_the_step(self):
        for code, limit, value in (("token_budget_exhausted", "total_tokens", 15), ("usd_budget_exhausted", "usd", 0)):
            with self.subTest(code=code):
                refusal = json.dumps({"error": {"message": "spent", "code": code}}).encode()
                transcript, _ = self.run_script([Answer(sse(*chat_turns()[0])), Answer(refusal, 402)])
                self.assertEqual(transcript["outcome"]["status"], "passed")
                limits = [e for e in transcript["events"] if e["type"] == "LimitReachedEvent"]
                self.assertEqual([(e["limit"], e["value"]) for e in limits], [(limit, value)])
                self.assertIn("budget", limits[0]["message"])

    def test_a_context_that_overflows_ends_the_step_like_its_limit(self):
        body = json.dumps({"error": {"message": "too long", "code": "context_length_exceeded"}}).encode()
        transcript, _ = self.run_script([Answer(sse(*chat_turns()[0])), Answer(body, 400)])
        self.assertEqual(transcript["outcome"]["status"], "passed")
        limits = [e for e in transcript["events"] if e["type"] == "LimitReachedEvent"]
        self.assertEqual([(e["limit"], e["value"]) for e in limits], [("context_tokens", 15)])

    def test_broken_calls_are_answered_and_the_run_goes_on(self):
        bad = sse(*chat(chat_call("{not json", 0, call_id="")), *chat(chat_call("x" * (10 << 20), 1, call_id="b")),
                  *chat(chat_call('{"text":"fine"}', 2, call_id="c")), *chat(chat_call("{}", 3, "no such", "d")),
                  *chat({}, "tool_calls"))
        transcript, provider = self.run_script([Answer(bad), Answer(sse(*chat_turns()[1]))])
        results = [e for e in transcript["events"] if e["type"] == "ToolResultEvent"]
        self.assertEqual([e["is_error"] for e in results], [True, True, False, True])
        self.assertIn("not valid JSON", results[0]["text"])
        self.assertIn("10485760 bytes", results[1]["text"])
        self.assertTrue(results[0]["call_id"])
        self.assertEqual([e["call_id"] for e in results[1:]], ["b", "c", "d"])
        self.assertLess(len(json.dumps(provider.requests[1]["body"])), 100_000)

    def test_a_stream_without_end_is_ended_by_the_deadline_or_its_size(self):
        half = sse(*chat({"content": "half"}))
        transcript, _ = self.run_script([Answer(half, hold=True)], limits={"max_time_s": 1})
        limits = [e["limit"] for e in transcript["events"] if e["type"] == "LimitReachedEvent"]
        self.assertEqual(limits, ["time"])
        self.assertEqual([(one["text"], one["aborted"]) for one in assistant_messages(transcript)], [("half", True)])
        flood = sse(*chat({"content": "x" * (1 << 20)})) * 5
        transcript, _ = self.run_script([Answer(flood, hold=True)])
        self.assertEqual(transcript["outcome"]["error"]["class"], "model")
        self.assertIn("more than", transcript["outcome"]["error"]["message"])

    def test_a_stream_of_comments_without_end_is_ended_by_its_size(self):
        """Comments keep a stream alive and count for no event, so that no other bound ends it."""
        comment = b": " + b"x" * ((1 << 20) - 4) + b"\n\n"
        answer = Answer(sse(*chat({"content": "half"})) + comment * 129, piece=len(comment), hold=True)
        transcript, _ = self.run_script([answer])
        self.assertEqual(transcript["outcome"]["error"]["class"], "model")
        self.assertIn("the stream has more than 134217728 bytes", transcript["outcome"]["error"]["message"])
        self.assertEqual([(one["text"], one["aborted"]) for one in assistant_messages(transcript)], [("half", True)])

    def test_aborted_turns_count_for_the_limit_on_tokens(self):
        half = sse({"type": "message_start", "message": {"usage": {"input_tokens": 900, "output_tokens": 1}}})
        transcript, _ = self.run_script([Answer(half)], "anthropic/m", limits={"max_total_tokens": 900})
        limits = [e["limit"] for e in transcript["events"] if e["type"] == "LimitReachedEvent"]
        self.assertEqual(limits, ["total_tokens"])

    def test_a_turn_is_over_with_its_last_event_though_the_stream_stays_open(self):
        turn = sse(*chat_turns()[1], "data: [DONE]")
        transcript, _ = self.run_script([Answer(turn, hold=True)])
        self.assertEqual(transcript["outcome"]["status"], "passed")

    def test_an_answer_that_is_no_stream_is_said_to_be_none(self):
        transcript, _ = self.run_script([Answer(b'{"choices":[]}', headers={"Content-Type": "application/json"})])
        self.assertIn("no stream of events", transcript["outcome"]["error"]["message"])
        transcript, _ = self.run_script([Answer(b"junk", status=200)] * 4)
        self.assertEqual(transcript["outcome"]["error"]["class"], "model")

    def test_an_open_request_is_dropped_with_its_model(self):
        with on_socket(self.socket, [Answer(sse(*chat({"content": "half"})), hold=True)]) as provider:
            agent = self.start(self.socket)
            self.assertTrue(provider.held.wait(60))
            agent.stdin.close()
            self.assertEqual(agent.stdout.read(), b"dropped\n")
            self.assertTrue(provider.gone.wait(60))
            self.assertEqual(agent.wait(timeout=60), 0)

    def test_a_gateway_that_starts_late_is_found(self):
        # The socket's file is there and nobody listens, as when a gateway restarts.
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(self.socket))
        agent = self.start(self.socket)
        self.socket.unlink()
        with on_socket(self.socket, [Answer(sse(*chat_turns()[1]))]):
            self.assertEqual(json.loads(agent.stdout.read())["outcome"]["status"], "passed")

    def test_a_port_works_as_well_as_a_socket(self):
        for host in ("127.0.0.1", "localhost"):
            with on_port([Answer(sse(*turn)) for turn in messages_turns()]) as provider:
                transcript = self.play(f"http://{host}:{provider.server_address[1]}", "anthropic/m", 2)
            self.assertEqual((transcript["outcome"]["status"], provider.violations), ("passed", []))
            self.assertEqual(provider.connections, 1)

    def test_a_provider_that_changes_reasoning_is_noticed(self):
        """The fake is strict: it refuses what a real provider would."""
        turns = messages_turns()
        turns[0][3]["delta"]["signature"] = "signed:something else"
        with on_socket(self.socket, [Answer(sse(*turn)) for turn in turns]) as provider:
            transcript = self.play(self.socket, "anthropic/m")
        self.assertEqual(provider.violations, ["ValueError: thinking is unchanged"])
        self.assertEqual(transcript["outcome"]["error"]["class"], "model")


if __name__ == "__main__":
    unittest.main(verbosity=2)
