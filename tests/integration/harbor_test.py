"""Task folders in the Harbor layout, run by the real chalk in namespaces sandboxes; and the agent "oracle"."""

import json
import shutil
import unittest

from support.chalk import SHELL, SOURCE, ChalkTest, bash, chalk, events, main, needs_root, shell_config, turns

HARBOR = SOURCE / "tests/environments/harbor"


@needs_root
class HarborTasks(ChalkTest):
    def run_task(self, *script, flags=(), environment=HARBOR, check=0):
        config = shell_config(turns(*script), run_id="harbor", environment=environment)
        _, transcripts = self.run_shell(config, "--runtime", "namespaces", *flags, check=check)
        return self.only(transcripts)

    def copy(self):
        folder = self.folder / "task"
        shutil.copytree(HARBOR, folder)
        return folder

    def test_the_oracle_passes(self):
        document = self.run_task(flags=["--agent", "oracle"])
        self.assert_outcome(document, "passed")
        self.assertEqual(document["score"], 1)
        self.assertEqual(document["run"]["task"], "tests/greeting")
        said = [m["text"] for m in events(document, "MessageEvent") if m["role"] == "assistant"]
        self.assertEqual(len(said), 1, said)
        self.assertIn("solving as 1000", said[0])
        scoring, = events(document, "ScoringEvent")
        self.assertIn("checking as 0 in /workdir", scoring["explanation"])
        self.assertEqual(scoring["metadata"], {"rewards": {"reward": 1.0}, "status": 3})
        self.assertIn("a step may take 30 s", json.dumps(events(document, "LogEvent")))

    def test_a_model_that_does_nothing_fails_with_0(self):
        document = self.run_task()
        self.assert_outcome(document, "failed")
        self.assertEqual(document["score"], 0)
        instructions = [m["text"] for m in events(document, "MessageEvent") if m["role"] == "user"]
        self.assertEqual(instructions, [(HARBOR / "instruction.md").read_text()])

    def test_a_model_that_works_passes_and_sees_neither_tests_nor_solution(self):
        look = "for f in /tests /solution /root/environment/tests/test.sh; do ls $f 2>/dev/null && echo seen; done; true"
        document = self.run_task(bash(look), bash("printf 'Hello, world!' >greeting.txt"))
        self.assert_outcome(document, "passed")
        self.assertNotIn("seen", json.dumps(events(document, "ToolResultEvent")))

    def test_a_share_of_a_reward_is_the_score_of_a_failed_run(self):
        document = self.run_task(bash("printf json >greeting.txt"))
        self.assert_outcome(document, "failed")
        self.assertEqual(document["score"], 0.5)
        self.assertEqual(events(document, "ScoringEvent")[0]["metadata"]["rewards"], {"reward": 0.5, "style": 1})

    def test_a_test_without_a_reward_is_an_error_of_the_task(self):
        document = self.run_task(bash("printf silent >greeting.txt"), check=1)
        self.assert_outcome(document, "error", "task")
        self.assertIn("wrote neither", document["outcome"]["error"]["message"])

    def test_a_test_that_hangs_is_an_error_of_the_task(self):
        folder = self.copy()
        text = (folder / "task.toml").read_text()
        (folder / "task.toml").write_text(text.replace("timeout_sec = 20.0", "timeout_sec = 0.5"))
        document = self.run_task(bash("printf hang >greeting.txt"), environment=folder, check=1)
        self.assert_outcome(document, "error", "task")
        self.assertIn("did not end within 0.5 s", document["outcome"]["error"]["message"])

    def test_the_task_s_time_limits_the_step(self):
        folder = self.copy()
        text = (folder / "task.toml").read_text()
        (folder / "task.toml").write_text(text.replace("timeout_sec = 30.0", "timeout_sec = 1.0"))
        (folder / "solution/solve.sh").write_text("sleep 600\n")
        document = self.run_task(flags=["--agent", "oracle"], environment=folder)
        self.assert_outcome(document, "failed")
        self.assertIn("the limit of 1 s is reached", json.dumps(document["events"]))

    def test_without_a_sandbox_nothing_of_the_machine_is_touched(self):
        config = shell_config(run_id="harbor", environment=HARBOR)
        _, transcripts = self.run_shell(config, "--no-containerized", check=1)
        document = self.only(transcripts)
        self.assert_outcome(document, "error", "task")
        self.assertIn("leave out --no-containerized", document["outcome"]["error"]["message"])

    def test_an_environment_without_a_solution_gives_the_oracle_nothing_to_run(self):
        document = self.run_task(flags=["--agent", "oracle"], environment=SHELL, check=1)
        self.assert_outcome(document, "error", "config")
        self.assertIn("has no solution", document["outcome"]["error"]["message"])

    def test_what_cannot_be_mapped_is_refused_before_anything_starts(self):
        folder = self.copy()

        def refused(*words):
            config = json.dumps(shell_config(environment=folder))
            result = chalk("run", "--config", config, "--out", self.out, check=2, cwd=self.folder)
            for word in words:
                self.assertIn(word, result.stderr)

        (folder / "environment").mkdir()
        (folder / "environment/Dockerfile").write_text("FROM scratch\n")
        refused("environment/Dockerfile", "chalk builds no images")
        (folder / "environment/Dockerfile").unlink()
        with (folder / "task.toml").open("a") as file:
            file.write("gpus = 2\n")
        refused("task.toml:24: environment.gpus", "got 2", "no GPUs")


if __name__ == "__main__":
    main()
