"""The examples, through the environment protocol and without a harness: the fake model's tool calls are carried out by
hand, the judges are asked, and the scores are held against the stand-alone rescoring."""

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from host_process import PYTHON, HostProcess

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
SUITE = "/usr/share/json-schema-test-suite"


def fake_model(example, name="fake_model.json"):
    with open(os.path.join(EXAMPLES, example, name), encoding="utf-8") as file:
        return json.load(file)


class Hello(unittest.TestCase):
    def judged(self, host, answer):
        events = [
            {"type": "StepStartedEvent", "index": 0, "name": "greet", "instructions": ""},
            {"type": "ToolResultEvent", "name": "greet", "text": answer, "is_error": False},
        ]
        return host.call("judge", index=0, transcript={"events": events})

    def test_the_scripted_call_passes_and_another_does_not(self):
        with HostProcess(environment=os.path.join(EXAMPLES, "hello")) as host:
            host.load()
            self.assertEqual([t["name"] for t in host.call("configure_tools")["tools"]], ["greet"])
            call = fake_model("hello")[0][0]["tool_calls"][0]
            answer = host.call("call_tool", **call)["content"][0]["text"]
            self.assertEqual(self.judged(host, answer)["score"], 1.0)
            other = host.call("call_tool", name="greet", arguments={"name": "Mars"})["content"][0]["text"]
            verdict = self.judged(host, other)
            self.assertEqual((verdict["score"], verdict["continue_task"]), (0.0, False))


@unittest.skipUnless(os.path.isdir(SUITE), "needs Debian's json-schema-test-suite (apt-get install it)")
class JsonSchema(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(tempfile.mkdtemp(prefix="chalk_test_schema_"), "json-schema")
        self.addCleanup(shutil.rmtree, os.path.dirname(self.folder))
        ignore = shutil.ignore_patterns("root_data", "__pycache__")
        shutil.copytree(os.path.join(EXAMPLES, "json-schema"), self.folder, ignore=ignore)

    def prepare(self):
        done = subprocess.run([PYTHON, self.folder + "/setup_data.py"], capture_output=True, text=True, check=True)
        self.assertIn("root_data/suite", done.stdout)

    def rescored(self, validator):
        command = [PYTHON, "-B", self.folder + "/rescore.py", validator]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def scores(self, script):
        """Plays write_file calls of the script; returns the judge's scores, each checked against rescore.py."""
        found = []
        with HostProcess(environment=self.folder) as host:
            host.load()
            validator = host.workdir + "/validator.py"
            for index, turns in enumerate(fake_model("json-schema", script)):
                for call in (c for turn in turns for c in turn.get("tool_calls", [])):
                    if call["name"] == "write_file":
                        with open(validator, "w", encoding="utf-8") as file:
                            file.write(call["arguments"]["content"])
                verdict = host.call("judge", index=index, transcript={"events": []})
                self.assertEqual(repr(verdict["score"]), self.rescored(validator))
                found.append(verdict["score"])
        return found

    def test_the_scripted_student_gets_better_and_the_broken_one_is_worse(self):
        self.prepare()
        first, second = self.scores("fake_model.json")
        self.assertLess(first, second)
        self.assertLess(second, 1)
        broken = self.scores("fake_model_broken.json")
        self.assertLess(max(broken), first)
        self.assertGreater(min(broken), 0)

    def judge(self, validator_source):
        with HostProcess(environment=self.folder) as host:
            host.load()
            if validator_source is not None:
                with open(host.workdir + "/validator.py", "w", encoding="utf-8") as file:
                    file.write(validator_source)
            return host.call("judge", index=0, transcript={"events": []})

    def test_hostile_and_missing_validators_score_what_they_answered(self):
        self.prepare()
        cases = {
            None: "No such file",
            "def is_valid(schema, instance, remotes): syntax error here": "SyntaxError",
            "import os\nos._exit(5)": "ended with 5",
            "def is_valid(s, i, r): return 1": "0 of 423",
            "def is_valid(s, i, r): raise SystemExit(6)": "ended with 6",
            "print('[0, [true, true]]')\ndef is_valid(s, i, r): print('x'); return None": "0 of 423",
        }
        for source, remark in cases.items():
            with self.subTest(source=source):
                verdict = self.judge(source)
                self.assertEqual(verdict["score"], 0.0)
                self.assertIn(remark, verdict["explanation"])

    def test_a_validator_that_dies_half_way_keeps_what_it_answered(self):
        self.prepare()
        source = "import os\nn = 0\ndef is_valid(s, i, r):\n  global n; n += 1\n  if n > 200: os._exit(9)\n  return True\n"
        verdict = self.judge(source)
        self.assertGreater(verdict["score"], 0.05)
        self.assertLess(verdict["score"], 0.5)
        self.assertIn("ended with 9", verdict["explanation"])

    def test_the_student_cannot_read_the_answers(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become the student")
        self.prepare()
        os.chmod(self.folder + "/root_data", 0o700)
        source = (
            "import glob, sys\n"
            "found = glob.glob(%r)\n"
            "for name in [f for m in list(sys.modules.values()) for f in dir(m) if f == 'valid']: found.append(name)\n"
            "def is_valid(s, i, r): return None\n"
            "if found: raise RuntimeError(str(found))\n"
        ) % (self.folder + "/root_data/suite/tests/draft7/*.json")
        self.assertEqual(self.judge(source)["explanation"], "0 of 423 cases")

    def test_without_the_suite_the_pre_hook_says_what_to_run(self):
        with HostProcess(environment=self.folder) as host:
            host.load()
            with self.assertRaisesRegex(Exception, "run setup_data.py"):
                host.call("pre_hook")

    def test_the_committed_scripts_hold_the_validators_of_their_folder(self):
        path = os.path.join(self.folder, "fake_model", "assemble.py")
        spec = importlib.util.spec_from_file_location("assemble", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, script in module.scripts().items():
            self.assertEqual(fake_model("json-schema", name), script, name + ": run fake_model/assemble.py")


if __name__ == "__main__":
    unittest.main()
