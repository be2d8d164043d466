"""A task folder in the Harbor layout, presented as an environment of one task with one step:

    task.toml  instruction.md  tests/test.sh  solution/solve.sh

`python -m chalk.harbor` is its environment host. chalk has looked at task.toml before it starts this
(config/harbor_task.cpp), and refused what cannot be mapped; docs/howto/harbor-tasks.md says what is.
"""

import os
import shutil

from chalk._task import Judge, Score, Step, Task

TESTS = "/tests"
LOGS = "/logs/verifier"
SOLUTION = "/solution"
WORKDIR = "/workdir"

_DEFAULT_VERIFIER_S = 600.0
_TAIL = 2000  # characters of output in an explanation


def _copy(source, target):
    """As root's own, readable by the student, whatever modes the folder came with; programs stay programs."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for folder, _, files in os.walk(target):
        os.chmod(folder, 0o755)
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o755 if os.stat(path).st_mode & 0o100 or name.endswith(".sh") else 0o644)


def _command(script):
    """As the kernel would run it; what names no interpreter is the shell's."""
    with open(script, "rb") as file:
        return [script] if file.read(2) == b"#!" else ["/bin/sh", script]


def _strings(table):
    return {name: str(value) for name, value in (table or {}).items()}


def read_rewards(folder):
    """(reward, all rewards) of reward.json, or of reward.txt where there is none."""
    import json

    path = os.path.join(folder, "reward.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            rewards = json.load(file)
        if not isinstance(rewards, dict) or not rewards:
            raise ValueError("%s: expected an object of numbers" % path)
        for name, value in rewards.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError("%s: %s: expected a number, got %r" % (path, name, value))
        if "reward" not in rewards and len(rewards) > 1:
            raise ValueError("%s: expected a \"reward\" among %s" % (path, ", ".join(sorted(rewards))))
        return float(rewards.get("reward", next(iter(rewards.values())))), rewards
    path = os.path.join(folder, "reward.txt")
    with open(path, encoding="utf-8") as file:
        text = file.read().strip()
    try:
        return float(text), {"reward": float(text)}
    except ValueError:
        raise ValueError("%s: expected a number, got %r" % (path, text[:100])) from None


class TestScript(Judge):
    """Runs tests/test.sh as root and reads the reward that it leaves."""

    def __init__(self, folder, timeout_s, env):
        self._folder = folder
        self._timeout_s = timeout_s
        self._env = env

    def evaluate(self, transcript):
        import signal
        import subprocess

        _copy(os.path.join(self._folder, "tests"), TESTS)
        shutil.rmtree(LOGS, ignore_errors=True)
        os.makedirs(LOGS)
        output = os.path.join(LOGS, "test-stdout.txt")
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with open(output, "wb") as log:
            process = subprocess.Popen(
                _command(os.path.join(TESTS, "test.sh")), cwd=WORKDIR, env={**env, **self._env},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )
            try:
                status = process.wait(self._timeout_s)
            except subprocess.TimeoutExpired:
                raise TimeoutError("tests/test.sh did not end within %g s (verifier.timeout_sec)" % self._timeout_s) from None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # what it left running, and itself when it is late
                except ProcessLookupError:
                    pass
                process.wait()
        with open(output, encoding="utf-8", errors="replace") as log:
            tail = log.read()[-_TAIL:]
        if not any(os.path.exists(os.path.join(LOGS, name)) for name in ("reward.json", "reward.txt")):
            raise FileNotFoundError("tests/test.sh ended with status %d and wrote neither %s/reward.json nor "
                                    "reward.txt; its last output:\n%s" % (status, LOGS, tail))
        reward, rewards = read_rewards(LOGS)
        return Score(reward, continue_task=reward >= 1, explanation=tail, metadata={"rewards": rewards, "status": status})


class HarborStep(Step):
    name = "task"

    def __init__(self, folder, config):
        with open(os.path.join(folder, "instruction.md"), encoding="utf-8") as file:
            instructions = file.read()
        verifier = config.get("verifier", {})
        timeout_s = float(verifier.get("timeout_sec", _DEFAULT_VERIFIER_S))
        super().__init__(instructions=instructions, judge=TestScript(folder, timeout_s, _strings(verifier.get("env"))))
        self._folder = folder
        self._env = _strings(config.get("solution", {}).get("env"))

    def solution(self):
        source = os.path.join(self._folder, "solution")
        if not os.path.exists(os.path.join(source, "solve.sh")):
            return None
        _copy(source, SOLUTION)
        return _command(os.path.join(SOLUTION, "solve.sh")), self._env


class HarborTask(Task):
    def __init__(self, folder):
        super().__init__()
        import tomllib

        with open(os.path.join(folder, "task.toml"), "rb") as file:
            config = tomllib.load(file)
        self.name = config.get("task", {}).get("name") or "task"
        self.steps = [HarborStep(folder, config)]

    def configure_tools(self):
        return ["bash", "read_file", "write_file", "edit_file"]


def tasks_in(folder):
    from chalk import _paths

    if _paths.STUDENT_WORKDIR != WORKDIR:  # the layout's folders would be the machine's own
        raise RuntimeError("a task in the Harbor layout needs a sandbox: leave out --no-containerized")
    return [HarborTask(folder)]


def main():
    from chalk import host

    host.main(tasks_in)


if __name__ == "__main__":
    main()
