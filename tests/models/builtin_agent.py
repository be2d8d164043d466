"""The builtin agent's loop as a process of its own (agent.cpp)."""

import json
import os
import pathlib
import subprocess

AGENT = pathlib.Path(os.environ["CHALK_BUILD"]) / "tests/models/chalk_model_agent"


def start(gateway, model="openai_compatible/m", steps=1, **plan):
    """Prints its transcript on stdout, and ends early when its stdin does."""
    plan = {"gateway": str(gateway), "model": model, "instructions": ["go", "on"][:steps], **plan}
    return subprocess.Popen([AGENT, json.dumps(plan)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def play(test, *args, **plan):
    """Its transcript; the process ends with the test at the latest."""
    agent = start(*args, **plan)
    for release in (agent.stdout.close, agent.stdin.close, agent.wait, agent.kill):
        test.addCleanup(release)
    out = agent.stdout.read()
    test.assertEqual(agent.wait(timeout=60), 0)
    return json.loads(out)


def assistant_messages(transcript):
    return [e for e in transcript["events"] if e["type"] == "MessageEvent" and e["role"] == "assistant"]
