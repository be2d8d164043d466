"""What goes wrong between the builtin agent's turns, in each API, and how its run and the gateway's count must look then: the
agent calls the tool echo, then says "done", and no turn counts twice."""

import json

import builtin_agent
from fake_provider import sse
from provider import Answer, error
from turns import DIALECTS, chat, gemini, messages, text_block


def answer(*events, **how):
    return Answer(pieces=[sse(event).decode() for event in events], **how)


END = {"openai_compatible/m": ["data: [DONE]"]}
HALF = {
    "openai_compatible/m": chat({"content": "do"}),
    "anthropic/m": messages((20, 2), "end_turn", text_block("do"))[:3],
    "openai_responses/m": [{"type": "response.output_text.delta", "output_index": 0, "delta": "do"}],
    "gemini/m": gemini((20, 2), {"text": "do"})[:1],
}
ERROR = {
    "openai_compatible/m": {"error": {"message": "boom", "code": 500}},
    "anthropic/m": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "openai_responses/m": {"type": "error", "code": "server_error", "message": "boom"},
    "gemini/m": {"error": {"code": 500, "message": "boom", "status": "INTERNAL"}},
}

REFUSED = {  # before the stream has begun: the gateway asks again
    "429": error(429, {"retry-after-ms": "20"}), "500": error(500), "529": error(529), "a provider that goes": Answer(drop=True),
}


def broken(model):
    """The stream had begun: the turn is asked for again by the agent."""
    return {"an error in the stream": answer(*HALF[model], ERROR[model]),
            "a provider that goes in the middle": answer(*HALF[model], cut=True)}


def script(model, *between):
    """A turn that calls a tool, what happens then, and the turn that ends the step."""
    call, last, _ = DIALECTS[model]()
    end = END.get(model, [])
    return [answer(*call, *end), *between, answer(*last, *end)]


def check_run(test, run, transcript, aborted, last="done"):
    """The transcript of one run of `test`, a GatewayTest, and what its gateway counted. `aborted`: turns that had begun when
    they failed. Returns what was said and spent."""
    told = json.dumps(transcript["events"])[-3000:]
    said = builtin_agent.assistant_messages(transcript)
    test.assertEqual(transcript["outcome"]["status"], "passed", told)
    test.assertEqual([one.get("aborted", False) for one in said], [False] + [True] * aborted + [False], told)
    test.assertEqual([one["text"] for one in said if not one.get("aborted")], ["", last])
    test.assertEqual([(c["name"], c["arguments"]) for c in said[0]["tool_calls"]], [("echo", {"text": "hé"})])
    results = [e["text"] for e in transcript["events"] if e["type"] == "ToolResultEvent"]
    test.assertEqual(results, ["hé"])
    test.assertEqual(transcript["steps"][0]["turns"], 2)
    for kind in ("input", "output"):
        test.assertEqual(transcript["usage"][kind], sum(one["usage"][kind] for one in said))
    spent = test.spent(run)
    test.assertEqual((spent["requests"], spent["estimated"]), (2 + aborted, aborted))
    if not aborted:
        test.assertEqual(spent["usage"], transcript["usage"])
    return said, spent


def check(test, run, model, between, aborted, api=None):
    """Plays one run whose provider does what `between` says between the turns. `api`: the model of this module whose API it
    is, where `model` is none."""
    test.provider.script = script(api or model, *between)
    asked = len(test.provider.requests)
    transcript = builtin_agent.play(test, test.folder / f"{run}.sock", model)
    said, spent = check_run(test, run, transcript, aborted)
    test.assertEqual(len(test.provider.requests) - asked, 2 + len(between))
    # Where a kept connection is closed without a word, libcurl itself asks again at once.
    counted = sum(not one.drop for one in between) - aborted
    test.assertIn(spent["retries"], range(counted, len(between) - aborted + 1))
    whole = [one["usage"] for one in said if not one.get("aborted")]
    test.assertEqual([(u["input"], u["output"]) for u in whole], [(10, 5), (20, 2)])
