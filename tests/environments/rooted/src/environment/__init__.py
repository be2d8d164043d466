"""Runs commands as root inside the sandbox, as environments' own code may: in the pre-hook and in the judge, from the
run's `task_args`. What they print is in the transcript's metadata."""

import os
import subprocess

from chalk import Judge, Score, Step, Task, log, report_progress, tool


def run_all(commands):
    results = []
    for command in commands:
        done = subprocess.run(
            command["argv"], env={**os.environ, **command.get("env", {})}, capture_output=True, text=True,
            errors="replace", timeout=120,
            close_fds=False,  # `chalk check` needs the student's groups, as run_as_student does
        )
        results.append({"code": done.returncode, "out": done.stdout[-60000:], "err": done.stderr[-4000:]})
    return results


class RunningJudge(Judge):
    def __init__(self, commands):
        self.commands = commands

    def evaluate(self, transcript):
        return Score(1.0, metadata={"commands": run_all(self.commands)})


@tool
def count(to: int) -> str:
    """Counts, and says how far it is."""
    for i in range(1, to + 1):
        report_progress(i, to, f"counted to {i}")
    log("counted", "warning")
    return "counted"


@tool
def give(size: int, binary: bool = False):
    """Gives back so many bytes."""
    return bytes(range(256)) * (size // 256) if binary else "x" * size


class Rooted(Task):
    name = "rooted"

    def __init__(self, before=(), after=(), steps=1):
        super().__init__()
        self.before = before
        self.steps = [
            Step(name=f"step {i + 1}", instructions="Do what the script says.", judge=RunningJudge(after))
            for i in range(steps)
        ]

    system_prompt = "You follow a script."

    def configure_tools(self):
        return ["bash", "read_file", "write_file", "edit_file", count, give]

    def pre_hook(self):
        return {"commands": run_all(self.before)}
