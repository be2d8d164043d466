"""The example that the demo runs: scores, their recomputation, the masked suite."""

import json
import subprocess
import sys

from support.chalk import SOURCE, SUITE, ChalkTest, bash, chalk, main, needs_root, tool_results, transcript, turns

EXAMPLE = SOURCE / "examples/json-schema"


def scores(document):
    return [step["score"] for step in document["steps"]]


@needs_root
class JsonSchema(ChalkTest):
    @classmethod
    def setUpClass(cls):
        if not SUITE.is_dir():
            raise AssertionError("Debian's json-schema-test-suite is missing; scripts/test installs it")
        subprocess.run(["/usr/bin/python3", EXAMPLE / "setup_data.py"], check=True, timeout=60, stdout=subprocess.DEVNULL)

    def run_example(self, name="run_config.json", n=8, out=None, extra=()):
        out = out or self.out
        chalk(
            "run", "--config", EXAMPLE / name, "--runtime", "namespaces", "-n", n, "--no-ui", "--out", out, *extra,
            check=0, cwd=self.folder, timeout=280,
        )
        return [transcript(path) for path in sorted(out.parent.glob(f"{out.stem}*.json"))]

    def test_eight_runs_give_equal_scores_that_rise_and_a_plain_script_agrees(self):
        config = json.loads((EXAMPLE / "run_config.json").read_text(encoding="utf-8"))
        config["environment"] = str(EXAMPLE)
        config["fake_model"]["script"] = str(EXAMPLE / config["fake_model"]["script"])
        config["extra_config"] = {"extra_artifact_paths": ["validator.py"]}
        path = self.folder / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        chalk(
            "run", "--config", path, "--runtime", "namespaces", "-n", "8", "--no-ui", "--out", self.out, check=0,
            cwd=self.folder, timeout=280,
        )
        documents = [transcript(path) for path in sorted(self.out.parent.glob("t_*.json"))]
        self.assertEqual(len(documents), 8)
        first = scores(documents[0])
        self.assertLess(first[0], first[1])
        self.assertLess(first[1], 1)
        for document in documents:
            self.assert_outcome(document, "passed")
            self.assertEqual(scores(document), first)

        validators = sorted((self.out.parent / "t_0_artifacts").rglob("validator.py"))
        self.assertTrue(validators, "the student's file is an artifact")
        rescored = subprocess.run(
            ["/usr/bin/python3", EXAMPLE / "rescore.py", validators[-1], "--suite", SUITE.parents[1]], capture_output=True, text=True, timeout=120,
        )
        self.assertEqual(rescored.returncode, 0, rescored.stderr)
        self.assertEqual(float(rescored.stdout.split()[0]), first[-1])

    def test_a_broken_validator_scores_lower(self):
        good = self.run_example(n=1)
        broken = self.run_example("run_config_broken.json", n=1, out=self.folder / "broken" / "t.json")
        for document in broken:
            self.assert_outcome(document, "passed")
        self.assertLess(scores(broken[0])[-1], scores(good[0])[0])

    def test_the_student_finds_the_suite_nowhere(self):
        looks = (
            "find / -xdev -name '*.json' -path '*draft7*' 2>/dev/null; find / -name 'additionalItems.json' 2>/dev/null; "
            "ls -la /usr/share/json-schema-test-suite /root_data /root 2>&1; cat /root_data/* 2>&1; echo looked"
        )
        config = {
            "environment": str(EXAMPLE), "run_id": "looker", "use_fake_model": True,
            "fake_model": {"script": [turns(bash(looks, timeout_s=60)), turns()]},
        }
        _, transcripts = self.run_shell(config)
        text = tool_results(self.only(transcripts))[0]["text"]
        self.assertIn("looked", text)
        self.assertNotIn("additionalItems", text)
        self.assertIn("denied", text)


if __name__ == "__main__":
    main()
