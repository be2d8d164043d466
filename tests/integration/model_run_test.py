"""The builtin agent in a sandbox with a real provider's API: refusals and broken streams on the way, what the transcript says
of them and of the tokens, recording and replaying, and where model calls go."""

import json
import os
import sys

from support.chalk import SHELL, SOURCE, ChalkTest, events, main, needs_root, tool_results

sys.path.insert(0, str(SOURCE / "tests/gateway"))
sys.path.insert(0, str(SOURCE / "tests/models"))
import turns  # noqa: E402
from fake_provider import sse  # noqa: E402
from provider import KEY, Answer, Provider, error  # noqa: E402

COMMAND = "id -un; echo from the sandbox > made; cat made"
NAMES = ("OPENAI_COMPATIBLE_API_KEY", "ANTHROPIC_API_KEY")
WRONG_PROXY = {"http_proxy": "http://127.0.0.1:1", "no_proxy": "", "NO_PROXY": ""}


def streamed(*all_events, **how):
    return Answer(pieces=[sse(event).decode() for event in all_events], **how)


def chat_answers():
    """A tool call, half a turn, the last turn."""
    call = turns.chat_call(json.dumps({"command": COMMAND}), name="bash")
    return [streamed(*turns.chat(call), *turns.chat({}, "tool_calls", (10, 5)), "data: [DONE]"),
            streamed(*turns.chat({"content": "ha"}), *turns.chat({"content": "lf"}), cut=True),
            streamed(*turns.chat({"content": "done"}), *turns.chat({}, "stop", (20, 2)), "data: [DONE]")]


def message_answers():
    call = ({"type": "tool_use", "id": "call_a", "name": "bash", "input": {}},
            [{"type": "input_json_delta", "partial_json": json.dumps({"command": COMMAND})}])
    half = turns.messages((15, 9), "end_turn", turns.text_block("half"))
    return [streamed(*turns.messages((10, 5), "tool_use", call)),
            streamed(*half[:half.index({"type": "content_block_stop", "index": 0})], cut=True),
            streamed(*turns.messages((20, 2), "end_turn", turns.text_block("done")))]


ANSWERS = {"openai_compatible/m": chat_answers, "anthropic/m": message_answers}


def conversation(document):
    """What was said and done, and what it cost; not when."""
    said = events(document, "MessageEvent") + tool_results(document)
    return [{key: value for key, value in event.items() if key not in ("time", "duration_ms")}
            for event in sorted(said, key=lambda event: event["seq"])]


@needs_root
class ModelRuns(ChalkTest):
    def provide(self):
        self.provider = Provider()
        self.addCleanup(self.provider.close)
        return self.provider

    def play(self, model, *flags, check=0, keys=True, url=None, env=None):
        """One run in a folder of its own: the result and the transcript."""
        self.out = self.folder / f"out-{len(list(self.folder.iterdir()))}" / "t.json"
        base = url or self.provider.url
        config = {"environment": str(SHELL), "run_id": "model", "model": model}
        environment = {"ANTHROPIC_BASE_URL": base, "OPENAI_COMPATIBLE_BASE_URL": f"{base}/v1", **(env or {}),
                       **dict.fromkeys(NAMES, KEY if keys else "")}
        result, transcripts = self.run_shell(config, "--runtime", "namespaces", *flags, check=check, env=environment)
        self.assert_no_key(result)
        return result, self.only(transcripts)

    def assert_no_key(self, result):
        self.assertNotIn(KEY, result.stdout + result.stderr)
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        self.assertIn(self.out, files)
        for file in files:
            self.assertNotIn(KEY.encode(), file.read_bytes(), file)

    def assert_played(self, document):
        """The script's turns, the broken one once and as such, and each counted once."""
        self.assert_outcome(document, "passed")
        said = [event for event in events(document, "MessageEvent") if event["role"] == "assistant"]
        self.assertEqual([(one["text"], one.get("aborted", False)) for one in said],
                         [("", False), ("half", True), ("done", False)])
        self.assertEqual(said[0]["tool_calls"], [{"id": "call_a", "name": "bash", "arguments": {"command": COMMAND}}])
        self.assertFalse(any("tool_calls" in one for one in said[1:]))
        (result,) = tool_results(document)
        self.assertEqual((result["call_id"], result["name"], result["is_error"]), ("call_a", "bash", False))
        self.assertEqual(result["text"], "student\nfrom the sandbox\n")
        (step,) = document["steps"]
        self.assertEqual((step["turns"], step["tool_calls"]), (2, 1))
        used = [(one["usage"]["input"], one["usage"]["output"]) for one in said]
        self.assertEqual((used[0], used[2]), ((10, 5), (20, 2)))
        self.assertEqual((document["usage"]["input"], document["usage"]["output"]),
                         tuple(map(sum, zip(*used, strict=True))))

    def assert_counted(self, result, document, retries):
        """The gateway's count has each whole turn once and the broken one estimated, and is what its line says, which is in
        the log and on the terminal."""
        counted = document["gateway"]
        numbers = [counted[key] for key in ("requests", "retries", "refused", "estimated")]
        self.assertEqual(numbers, [3, retries, 0, 1])
        broken = [counted["usage"]["input"] - 30, counted["usage"]["output"] - 7]
        (request,) = {len(request["body"]) for request in self.provider.requests[2:]}
        self.assertIn(broken[0], range(1, request // 4 + 2))
        self.assertIn(broken[1], range(1, 10))  # events of the half turn
        (line,) = [event["text"] for event in events(document, "LogEvent") if event["source"] == "gateway"]
        self.assertEqual(line, f"3 model calls, {retries} tried again, {counted['usage']['input']} tokens in (0 cached), "
                               f"{counted['usage']['output']} out (0 reasoning), price not known; usage of 1 estimated")
        self.assertIn(f"gateway: {line}", result.stdout)

    def script(self, model):
        self.provider.script = [error(429, {"retry-after": "1"}), *ANSWERS[model]()]

    def assert_asked(self):
        """Each of the script's answers was taken, the broken turn asked for again as it was."""
        self.assertEqual((self.provider.wrong, self.provider.script), ([], []))
        first, again, half, last = [request["body"] for request in self.provider.requests]
        self.assertEqual((first, half), (again, last))
        self.assertIn(b"from the sandbox", last)

    def test_a_refusal_a_tool_turn_a_broken_stream_and_the_last_turn(self):
        for model in ANSWERS:
            with self.subTest(model=model):
                self.provide()
                self.script(model)
                result, document = self.play(model)
                self.assert_played(document)
                self.assert_counted(result, document, retries=1)
                self.assert_asked()

    def test_the_transcript_and_the_gateway_agree_on_the_tokens_of_a_broken_stream(self):
        for model in ANSWERS:
            with self.subTest(model=model):
                self.provide().script = ANSWERS[model]()
                _, document = self.play(model)
                said, counted = document["usage"], document["gateway"]["usage"]
                self.assertEqual(counted["input"], said["input"])
                # Of the half turn's output each has an estimate: the gateway's by its events, the agent's by its text.
                self.assertLessEqual(abs(counted["output"] - said["output"]), 2)

    def test_the_transcript_and_the_gateway_agree_on_the_tokens_of_whole_turns(self):
        for model in ANSWERS:
            with self.subTest(model=model):
                call, _, last = ANSWERS[model]()
                self.provide().script = [error(429, {"retry-after-ms": "20"}), call, error(529), last]
                _, document = self.play(model)
                self.assert_outcome(document, "passed")
                self.assertEqual(document["usage"], {"input": 30, "cached": 0, "output": 7, "reasoning": 0})
                self.assertEqual(document["gateway"]["usage"], document["usage"])
                self.assertEqual((document["gateway"]["retries"], document["gateway"]["estimated"]), (2, 0))

    def test_what_was_recorded_is_replayed_without_provider_and_key(self):
        for model in ANSWERS:
            with self.subTest(model=model):
                self.provide()
                self.script(model)
                kept = self.folder / f"kept-{model.split('/')[0]}"
                _, recorded = self.play(model, "--record", kept)
                self.assert_played(recorded)
                self.assert_asked()
                self.provider.close()
                files = sorted(kept.iterdir())
                result, replayed = self.play(model, "--replay", kept, keys=False)
                self.assert_played(replayed)
                self.assert_counted(result, replayed, retries=0)
                self.assertEqual(conversation(replayed), conversation(recorded))
                self.assertEqual(replayed["usage"], recorded["usage"])
                self.assertEqual(replayed["gateway"]["usage"], recorded["gateway"]["usage"])
                self.assertEqual(sorted(kept.iterdir()), files)
                self.assertEqual(len(self.provider.requests), 4)

    def elsewhere(self):
        """The provider under an address that chalk does not take for this machine's: proxies count for such alone."""
        return self.provide().url.replace("127.0.0.1", "127.1")

    def test_a_proxy_of_the_environment_is_not_for_providers_on_this_machine(self):
        self.provide()
        self.script("openai_compatible/m")
        _, document = self.play("openai_compatible/m", env=WRONG_PROXY)
        self.assert_played(document)
        self.assert_asked()

    def test_a_proxy_of_the_environment_that_is_not_there_ends_the_run_as_a_model_error(self):
        _, document = self.play("openai_compatible/m", url=self.elsewhere(), env=WRONG_PROXY, check=1)
        self.assert_outcome(document, "error", "model")
        self.assertIn("provider_unreachable", document["outcome"]["error"]["message"])
        self.assertEqual(self.provider.requests, [])

    def test_no_proxy_goes_past_a_proxy_of_the_environment(self):
        url = self.elsewhere()
        self.script("openai_compatible/m")
        _, document = self.play("openai_compatible/m", "--no-proxy", url=url, env=WRONG_PROXY)
        self.assert_played(document)


if __name__ == "__main__":
    main()
