"""The integration tests' environment: built-in tools, a script of calls given by the run config, and a judge that does
what `task_args` say. Not an example; examples/ has those."""

import os
import time

from chalk import STUDENT_WORKDIR, Judge, Score, Step, StudentMisbehaviorError, Task, tool


class ConfiguredJudge(Judge):
    """judge: "pass", "fail", "raise", "misbehave", "hang", "die"."""

    def __init__(self, behaviour):
        self.behaviour = behaviour

    def evaluate(self, transcript):
        if self.behaviour == "fail":
            return Score(0.25, continue_task=False, explanation="told to")
        if self.behaviour == "raise":
            raise RuntimeError("the judge raises, as it was told to")
        if self.behaviour == "misbehave":
            raise StudentMisbehaviorError("the student misbehaved, says the judge")
        if self.behaviour == "hang":
            time.sleep(3600)
        if self.behaviour == "die":
            os.kill(os.getpid(), 9)
        return Score(1.0, explanation="as told")


class Shell(Task):
    name = "shell"

    def __init__(self, judge="pass", steps=1, pre_hook="pass", tool_delay_s=0.0, raise_on=None):
        super().__init__()
        self.pre_hook_behaviour = pre_hook
        self.tool_delay_s = tool_delay_s
        # "raise_on": a run id; the judge of that run alone raises.
        if raise_on is not None and os.environ.get("CHALK_RUN_ID") == raise_on:
            judge = "raise"
        self.steps = [
            Step(name=f"step {i + 1}", instructions=f"Do what the script says, part {i + 1}.", judge=ConfiguredJudge(judge))
            for i in range(steps)
        ]

    system_prompt = "You follow a script."

    def configure_tools(self):
        delay = self.tool_delay_s

        @tool
        def wait() -> str:
            """Waits as long as task_args say."""
            time.sleep(delay)
            return "waited"

        @tool
        def crash_the_environment() -> str:
            """Ends the environment host the hard way."""
            os.kill(os.getpid(), 9)

        return ["bash", "read_file", "write_file", "edit_file", wait, crash_the_environment]

    def pre_hook(self):
        print("the pre-hook prints this to its standard output")
        if self.pre_hook_behaviour == "raise":
            raise RuntimeError("the pre-hook raises, as it was told to")
        with open(STUDENT_WORKDIR / "run-id", "w", encoding="utf-8") as file:
            file.write(os.environ.get("CHALK_RUN_ID", ""))
        return {"uid": os.getuid(), "seed": self.seed, "CHALK_SEED": os.environ.get("CHALK_SEED")}
