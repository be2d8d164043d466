"""The gateway between a client and a strict fake provider: what passes, what is tried again, what is refused."""

import http.client
import json
import os
import pathlib
import stat
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import builtin_agent  # noqa: E402
from failing_turns import REFUSED, broken, check  # noqa: E402
from provider import KEY, KEY_SENT, Answer, GatewayTest, chat_stream, error, gemini_stream, message_stream  # noqa: E402
from support.chalk import main  # noqa: E402
from turns import DIALECTS  # noqa: E402

GEMINI = "/v1beta/models/g:streamGenerateContent"


class Passing(GatewayTest):
    def test_a_stream_passes_byte_for_byte_and_is_counted(self):
        self.start([{"models": ["openai/m"]}])
        status, headers, body = self.ask({"model": "m", "stream": True, "odd": "\u00fc \x00 1.0"},
                                         headers={"X-Chalk-Model": "openai/m", "Authorization": "Bearer theirs",
                                                  "Cookie": "c"})
        self.assertEqual(status, 200)
        self.assertEqual(body.decode(), "".join(chat_stream()))
        self.assertEqual(headers["Content-Type"], "text/event-stream")
        self.assertIsNone(headers["Set-Cookie"])
        (sent,) = self.provider.requests
        self.assertEqual(sent["path"], "/v1/chat/completions")
        self.assertEqual(json.loads(sent["body"])["odd"], "\u00fc \x00 1.0")
        self.assertNotIn("x-chalk-model", sent["headers"])
        self.assertNotIn("cookie", sent["headers"])
        spent = self.spent()
        self.assertEqual(spent["usage"]["input"], 90)
        self.assertEqual(spent["usage"]["output"], 20)
        self.assertEqual((spent["requests"], spent["retries"], spent["estimated"]), (1, 0, 0))

    def test_each_api_reaches_its_provider(self):
        self.provider.script = [Answer(pieces=message_stream()), Answer(), error(418)]
        self.start([{"models": ["anthropic/c"]}, {"models": ["openai_compatible/org/x"]}])
        status, _, body = self.ask({"model": "c"}, "/v1/messages?beta=true", {"anthropic-beta": "b"}, run=0)
        self.assertEqual((status, body.decode()), (200, "".join(message_stream())))
        self.assertEqual(self.provider.requests[0]["path"], "/v1/messages?beta=true")
        self.assertEqual(self.provider.requests[0]["headers"]["anthropic-beta"], "b")
        self.assertEqual(self.spent(0)["usage"]["output"], 25)
        self.assertEqual(self.ask({"model": "org/x"}, run=1)[0], 200)
        status, headers, body = self.ask({"model": "org/x"}, run=1)
        self.assertEqual(status, 418)
        self.assertEqual(json.loads(body)["error"]["code"], "scripted")
        self.assertEqual(headers["X-Should-Retry"], "false")

    def test_gemini_is_asked_by_its_path_with_our_key_and_its_counts_seen(self):
        self.provider.script = [error(429, {"retry-after-ms": "20"}), Answer(pieces=gemini_stream())]
        self.start([{"models": ["gemini/g"]}])
        status, headers, body = self.ask({"contents": []}, GEMINI + "?alt=sse&key=theirs&fields=candidates",
                                         {"x-goog-api-key": "theirs"})
        self.assertEqual((status, body.decode()), (200, "".join(gemini_stream())))
        self.assertEqual({request["path"] for request in self.provider.requests}, {GEMINI + "?alt=sse"})
        spent = self.spent()
        self.assertEqual((spent["requests"], spent["retries"], spent["estimated"]), (1, 1, 0))
        self.assertEqual((spent["usage"]["input"], spent["usage"]["output"]), (50, 30))
        for path, body, status, code in (
            (GEMINI.replace("/g:", "/other:"), {}, 403, "PERMISSION_DENIED"), (GEMINI, {"model": "other"}, 400, "INVALID_ARGUMENT"),
            ("/v1/chat/completions", {"model": "g"}, 400, None)):
            answer = self.ask(body, path)
            self.assertEqual((answer[0], json.loads(answer[2])["error"].get("status")), (status, code))
        self.assertEqual(len(self.provider.requests), 2)

    def test_many_requests_go_over_one_connection(self):
        self.start()
        connection = self.connect()
        for _ in range(20):
            self.assertEqual(self.ask(connection=connection)[0], 200)
        self.assertEqual(self.spent()["requests"], 20)

    def test_a_proxy_takes_all(self):
        environment = self.environment() | {"OPENAI_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
        self.start([{"models": ["openai/m", "anthropic/m2"]}], environment, proxy=self.provider.url)
        self.assertEqual(self.ask()[0], 200)
        self.assertEqual(self.ask({"model": "m2"}, "/v1/messages")[0], 200)

    def test_a_service_tier_goes_along(self):
        self.start(environment=self.environment() | {"CHALK_INFERENCE_SERVICE_TIER": "flex"})
        self.ask()
        self.assertEqual(json.loads(self.provider.requests[0]["body"])["service_tier"], "flex")

    def test_a_client_that_does_not_read_holds_the_provider_back(self):
        written = []

        def count():
            written.append(1)

        piece = "data: " + "x" * 65_000 + "\n\n"
        self.provider.script = [Answer(pieces=[piece] * 800, hold=count)]
        self.start()
        connection = self.connect()
        connection.request("POST", "/v1/chat/completions", '{"model":"m"}')
        response = connection.getresponse()
        # What buffers hold (the gateway's, libcurl's, the kernel's) is written; then the writer must stand still.
        before, still = -1, 0
        deadline = time.monotonic() + 20
        while still < 5 and time.monotonic() < deadline:
            still = still + 1 if len(written) == before else 0
            before = len(written)
            time.sleep(0.1)
        self.assertLess(len(written), 400)
        self.assertEqual(len(response.read()), 800 * len(piece))
        self.assertEqual(len(written), 800)


class Again(GatewayTest):
    def test_passing_failures_are_tried_again_and_counted_once(self):
        self.provider.script = [error(429, {"retry-after-ms": "20"}), error(500), Answer(drop=True), error(529), error(408)]
        self.start()
        status, _, body = self.ask()
        self.assertEqual((status, body.decode()), (200, "".join(chat_stream())))
        self.assertEqual(len(self.provider.requests), 6)
        self.assertEqual(len({request["body"] for request in self.provider.requests}), 1)
        spent = self.spent()
        self.assertEqual((spent["requests"], spent["retries"], spent["usage"]["input"]), (1, 5, 90))

    def test_retry_after_is_kept(self):
        self.provider.script = [error(429, {"retry-after": "1"})]
        self.start()
        begun = time.monotonic()
        self.assertEqual(self.ask()[0], 200)
        self.assertGreaterEqual(time.monotonic() - begun, 1.0)

    def test_the_wait_that_google_asks_for_in_the_body_is_kept(self):
        def limited(delay):
            details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
            body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}}
            return Answer(429, [json.dumps(body)], {"Content-Type": "application/json"})

        self.provider.script = [limited("1.2s"), Answer(pieces=gemini_stream())]
        self.start([{"models": ["gemini/g"]}])
        begun = time.monotonic()
        self.assertEqual(self.ask({}, GEMINI + "?alt=sse")[0], 200)
        self.assertGreaterEqual(time.monotonic() - begun, 1.2)
        self.assertEqual(self.spent()["retries"], 1)
        # Nobody sits an hour out: the refusal is passed on, as a whole.
        self.provider.script = [limited("3600s")]
        status, headers, body = self.ask({}, GEMINI + "?alt=sse")
        self.assertEqual((status, headers["Retry-After-Ms"]), (429, "3600000"))
        self.assertEqual(json.loads(body)["error"]["details"][0]["retryDelay"], "3600s")
        self.assertEqual(len(self.provider.requests), 3)

    def test_what_the_request_is_to_blame_for_is_not(self):
        for status in (400, 401, 403, 404, 413, 422):
            self.provider.script.append(error(status))
        self.provider.script.append(error(503, {"x-should-retry": "false"}))
        self.start()
        for status in (400, 401, 403, 404, 413, 422, 503):
            self.assertEqual(self.ask()[0], status)
        self.assertEqual(len(self.provider.requests), 7)
        self.assertEqual(self.spent()["requests"], 0)

    def test_the_last_refusal_is_passed_on(self):
        self.provider.default = lambda: error(500)
        self.start(retries=2)
        status, headers, body = self.ask()
        self.assertEqual((status, json.loads(body)["error"]["message"]), (500, "scripted 500, for Bearer [key removed]"))
        self.assertEqual(headers["X-Should-Retry"], "false")
        self.assertEqual(len(self.provider.requests), 3)

    def test_a_provider_that_is_not_there_is_an_error_in_the_apis_form(self):
        environment = self.environment() | {"OPENAI_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
        self.start([{"models": ["openai/m", "anthropic/m2"]}], environment, retries=1)
        status, _, body = self.ask()
        self.assertEqual((status, json.loads(body)["error"]["code"]), (502, "provider_unreachable"))
        status, _, body = self.ask({"model": "m2"}, "/v1/messages")
        self.assertEqual((status, json.loads(body)["type"]), (502, "error"))

    def test_a_stream_that_broke_is_not_tried_again_but_counted(self):
        self.provider.script = [Answer(pieces=chat_stream("one two three")[:2], cut=True)]
        self.start()
        with self.assertRaises(http.client.IncompleteRead) as broken:
            self.ask()
        self.assertEqual(broken.exception.partial.decode(), "".join(chat_stream("one two three")[:2]))
        self.assertEqual(len(self.provider.requests), 1)
        spent = self.spent()
        self.assertEqual((spent["requests"], spent["estimated"], spent["usage"]["output"]), (1, 1, 2))

    def test_an_error_within_a_stream_passes_as_it_is(self):
        pieces = chat_stream()[:1] + ['data: {"error":{"message":"boom"}}\n\n']
        self.provider.script = [Answer(pieces=pieces)]
        self.start()
        status, _, body = self.ask()
        self.assertEqual((status, body.decode()), (200, "".join(pieces)))
        self.assertEqual(len(self.provider.requests), 1)

    def test_a_client_that_leaves_ends_its_request_and_pays(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        # Far more than all buffers hold: the writer meets the closed connection.
        pieces = chat_stream()[:1] + ["data: " + "x" * 65_000 + "\n\n"] * 500
        self.provider.script = [Answer(pieces=pieces)]
        self.start()
        connection = self.connect()
        connection.request("POST", "/v1/chat/completions", '{"model":"m"}')
        connection.getresponse().read(10)
        connection.close()
        self.assertTrue(self.provider.gone.wait(20))
        deadline = time.monotonic() + 10
        while not self.spent()["estimated"] and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.spent()["estimated"], 1)
        self.assertEqual(self.ask()[0], 200)

    def test_a_client_that_leaves_before_an_answer_frees_its_place(self):
        go_on = threading.Event()
        self.provider.script = [Answer(hold=go_on.wait)]
        self.start(most=1)
        first = self.connect()
        first.request("POST", "/v1/chat/completions", '{"model":"m"}')
        self.assertTrue(self.provider.arrived.acquire(timeout=20))
        first.sock.close()
        go_on.set()
        self.assertEqual(self.ask()[0], 200)


class Refused(GatewayTest):
    def refused(self, answer, status, code):
        self.assertEqual(answer[0], status, answer)
        self.assertEqual(json.loads(answer[2])["error"].get("code", code), code)

    def test_other_models_and_apis(self):
        self.start([{"models": ["openai/m"]}, {"models": ["anthropic/c"]}])
        self.refused(self.ask({"model": "other"}), 403, "model_not_allowed")
        self.refused(self.ask(headers={"X-Chalk-Model": "anthropic/m"}), 403, "model_not_allowed")
        self.refused(self.ask({"model": "m"}, run=1), 403, "model_not_allowed")
        self.refused(self.ask({"model": "m"}, "/v1/messages"), 400, "wrong_api")
        self.refused(self.ask({"model": "m"}, "/v1/files"), 404, "not_found")
        self.refused(self.ask({}), 400, "no_model")
        status, _, body = self.ask({"model": "x"}, "/v1/messages", run=1)
        self.assertEqual((status, json.loads(body)["error"]["type"]), (403, "permission_error"))
        self.assertEqual(self.provider.requests, [])

    def test_a_spent_budget(self):
        prices = self.folder / "prices.json"
        prices.write_text('{"openai/m": {"input": 1000, "output": 1000}}')
        self.start([{"models": ["openai/m"], "max_tokens": 200},
                    {"models": ["openai/m"], "max_usd": 0.1}], prices=str(prices))
        for run in (0, 1):
            self.assertEqual(self.ask(run=run)[0], 200)
        self.assertEqual(self.ask(run=0)[0], 200)  # 110 of 200
        self.refused(self.ask(run=0), 402, "token_budget_exhausted")
        self.refused(self.ask(run=1), 402, "usd_budget_exhausted")
        self.assertAlmostEqual(self.spent(1)["usd"], 0.11)

    def test_the_harness_may_ask_what_its_run_has_spent(self):
        self.start([{"models": ["openai/m"]}, {"models": ["openai/m"]}])
        self.assertEqual(self.ask()[0], 200)
        connection = self.connect()
        for _ in range(2):  # over a connection that is kept
            connection.request("POST", "/chalk/spent")
            response = connection.getresponse()
            said = json.loads(response.read())
            self.assertEqual(response.status, 200)
            self.assertEqual((said["requests"], said["usage"]["input"], said["usd"]), (1, 90, None))
            self.assertEqual(said["context_tokens"], 110)
            self.assertGreaterEqual(said["waited_ms"], 0)
        connection = self.connect(1)
        connection.request("POST", "/chalk/spent")
        self.assertEqual(json.loads(connection.getresponse().read())["requests"], 0)
        self.refused(self.ask({"model": "m"}, "/chalk/spent"), 404, "not_found")

    def test_the_harness_hears_of_the_largest_context_since_it_asked_and_a_count_is_no_call(self):
        count = Answer(pieces=['{"input_tokens": 17}'], headers={"Content-Type": "application/json"})
        self.provider.script = [Answer(pieces=message_stream()), Answer(pieces=message_stream(usage=(1, 2))), count]
        self.start([{"models": ["anthropic/c"]}])
        for path in ("/v1/messages", "/v1/messages", "/v1/messages/count_tokens"):
            self.assertEqual(self.ask({"model": "c"}, path)[0], 200)
        connection = self.connect()
        for context in (35, 3):
            connection.request("POST", "/chalk/spent")
            said = json.loads(connection.getresponse().read())
            self.assertEqual((said["context_tokens"], said["requests"], said["estimated"]), (context, 2, 0))

    def test_bytes_that_are_no_request(self):
        self.start()
        for garbage in (b"\x00\xff" * 100 + b"\r\n\r\n", b"POST\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000):
            connection = self.connect()
            connection.connect()
            connection.sock.sendall(garbage)
            self.assertIn(connection.sock.recv(12)[9:12], (b"400", b"431"))
        connection = self.connect()
        connection.putrequest("POST", "/v1/responses")
        connection.putheader("Content-Length", str(33 << 20))
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)
        self.assertEqual(self.ask()[0], 200)

    def test_the_socket_is_its_owners_alone(self):
        self.start()
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / "0.sock").st_mode), 0o600)

    def test_no_key_is_in_argv_environment_or_answers(self):
        repeats = {"x-request-id": f"of {KEY}"}
        self.provider.default = lambda: error(401, repeats)
        process = self.start([{"models": ["openai/m", "anthropic/c", "gemini/g"]}])
        for model, path in (("m", "/v1/chat/completions"), ("c", "/v1/messages"), ("g", GEMINI)):
            status, headers, body = self.ask({"model": model}, path)
            self.assertEqual(status, 401)
            self.assertNotIn(KEY, f"{headers}{body}")
            self.assertIn("[key removed]", json.loads(body)["error"]["message"])
            self.assertEqual(headers["x-request-id"], "of [key removed]")
        for model, path in (("m", "/v1/chat/completions"), ("c", "/v1/messages"), ("g", GEMINI)):
            # The stream began well; its error comes in two pieces, in the middle of the key.
            event = 'data: {"error":{"message":"wrong: ' + KEY + '"}}\n\n'
            half = event.index(KEY) + 5
            self.provider.script = [Answer(pieces=["data: {}\n\n", event[:half], event[half:]])]
            status, _, body = self.ask({"model": model}, path)
            self.assertEqual((status, body.decode()), (200, "data: {}\n\n" + event.replace(KEY, "[key removed]")))
        for name in ("cmdline", "environ"):
            self.assertNotIn(KEY.encode(), pathlib.Path(f"/proc/{process.pid}/{name}").read_bytes())


class TheBuiltinAgent(GatewayTest):
    """Of all that fails the transcript has the turns that there were, each once, and the gateway's count agrees."""

    def test_it_is_served_under_each_api_whatever_fails_and_no_turn_counts_twice(self):
        cases = [(model, "nothing", [], 0) for model in DIALECTS]
        for model in DIALECTS:
            cases += [(model, name, [one], 0) for name, one in REFUSED.items()]
            cases += [(model, name, [one], 1) for name, one in broken(model).items()]
            half, error_in_it = reversed(broken(model).values())
            cases.append((model, "all", [*REFUSED.values(), half, REFUSED["429"], error_in_it, REFUSED["500"]], 2))
        self.start([{"models": [model]} for model, *_ in cases])
        for run, (model, name, between, aborted) in enumerate(cases):
            with self.subTest(name, model=model):
                check(self, run, model, between, aborted)

    def test_a_provider_that_goes_on_refusing_ends_the_run_and_nothing_counts(self):
        cases = [(model, status) for model in DIALECTS for status in (429, 500, 529)]
        self.start([{"models": [model]} for model, _ in cases], retries=1)
        for run, (model, status) in enumerate(cases):
            with self.subTest(model=model, status=status):
                self.provider.script = [error(status, {"retry-after-ms": "20"}) for _ in range(2)]
                transcript = builtin_agent.play(self, self.folder / f"{run}.sock", model)
                said = transcript["outcome"]["error"]
                self.assertEqual(said["class"], "model")
                self.assertIn(f"HTTP {status}: ", said["message"])
                self.assertNotIn(KEY, json.dumps(transcript))
                self.assertEqual(builtin_agent.assistant_messages(transcript), [])
                self.assertEqual((transcript["steps"][0]["turns"], self.provider.script), (0, []))
                spent = self.spent(run)
                self.assertEqual((spent["requests"], spent["retries"], spent["estimated"]), (0, 1, 0))
                self.assertEqual(spent["usage"], transcript["usage"])

    def test_an_error_within_a_stream_carries_no_key_into_the_transcript(self):
        self.start([{"models": [model]} for model in DIALECTS])
        for run, model in enumerate(DIALECTS):
            with self.subTest(model=model):
                leaks = Answer(pieces=['data: {"type":"error","error":{"type":"x","message":"wrong: ', KEY_SENT, '"}}\n\n'])
                self.provider.script = [leaks] * 4  # it is asked for again three times
                transcript = builtin_agent.play(self, self.folder / f"{run}.sock", model)
                self.assertNotIn(KEY, json.dumps(transcript))
                self.assertIn("[key removed]", json.dumps(transcript))


class Restarted(GatewayTest):
    def test_a_new_gateway_serves_the_same_paths_and_accounts(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.provider.script = [Answer(), Answer(hold=go_on.wait)]
        self.start()
        self.assertEqual(self.ask()[0], 200)
        cut = self.connect()
        cut.request("POST", "/v1/chat/completions", '{"model":"m"}')
        for _ in range(2):
            self.assertTrue(self.provider.arrived.acquire(timeout=20))
        self.assertEqual(self.tell("restart").strip(), "ready")
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            cut.getresponse().read()
        self.assertEqual(self.ask()[0], 200)
        self.assertEqual(self.spent()["usage"]["output"], 40)


class Recorded(GatewayTest):
    def test_repeats_stay_distinct_when_replayed_without_a_provider(self):
        folder = self.folder / "recordings"
        answers = [chat_stream(word) for word in ("first", "second", "other")]
        self.provider.script = [Answer(pieces=pieces) for pieces in answers] + [error(400), Answer(pieces=gemini_stream())]
        runs = [{"models": ["openai/m"], "seed": "0-0"}, {"models": ["openai/m", "gemini/g"], "seed": "0-1"}]
        process = self.start([dict(run) for run in runs], record=str(folder))
        for run in (0, 0, 1):
            self.assertEqual(self.ask(run=run)[0], 200)
        self.assertEqual(self.ask(run=1)[0], 400)
        self.assertEqual(self.ask({}, GEMINI + "?alt=sse", run=1)[0], 200)
        self.stop(process)
        for file in folder.iterdir():
            self.assertNotIn(KEY, file.read_text())
        seen = len(self.provider.requests)
        self.start(runs, {"PATH": os.environ["PATH"]}, replay=str(folder))
        for run, pieces in ((1, answers[2]), (0, answers[0]), (0, answers[1])):
            self.assertEqual(self.ask(run=run)[2].decode(), "".join(pieces))
        self.assertEqual(self.ask(run=1)[0], 400)
        self.assertEqual(self.ask({}, GEMINI + "?alt=sse", run=1)[2].decode(), "".join(gemini_stream()))
        self.assertEqual(self.spent(0)["usage"]["output"], 40)
        status, _, body = self.ask(run=0)
        self.assertEqual((status, json.loads(body)["error"]["code"]), (404, "no_recording"))
        self.assertEqual(len(self.provider.requests), seen)


if __name__ == "__main__":
    main()
