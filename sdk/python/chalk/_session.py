"""The protocol's methods, as a table from their names. docs/protocols/environment.md is the specification."""

import os
import sys

from chalk._task import Score, Task, name_of_step, name_of_task

PROTOCOL_VERSION = 1


class RpcError(Exception):
    """An answer other than the environment's own exceptions."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601


def run_if_async(value):
    """Hooks, judges and tools may be coroutines."""
    if type(value).__name__ == "coroutine":
        import asyncio

        return asyncio.run(value)
    return value


def _seed(params):
    seed = params.get("seed")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise RpcError(INVALID_PARAMS, "seed: expected a number from 0")
    return seed


def _param(params, name, kind):
    value = params.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RpcError(INVALID_PARAMS, "%s: expected %s" % (name, kind.__name__))
    return value


def find_tasks(module):
    """The package's TASKS; else the public Task subclasses that it names; else those of its submodules."""
    if hasattr(module, "TASKS"):
        return list(module.TASKS)
    found = _task_classes(module)
    if not found and hasattr(module, "__path__"):
        for entry in sorted(os.listdir(module.__path__[0])):
            name = entry[:-3] if entry.endswith(".py") else entry
            is_module = entry.endswith(".py") or os.path.isfile(os.path.join(module.__path__[0], entry, "__init__.py"))
            if is_module and name.isidentifier() and not name.startswith("_"):
                part = __import__(module.__name__ + "." + name, None, None, ("*",))
                found += [c for c in _task_classes(part) if c not in found]
    return found


def _task_classes(module):
    return [
        value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Task) and value is not Task and not name.startswith("_")
    ]


def tasks_of_package(environment):
    """Of src/environment, a Python package."""
    source = os.path.join(environment, "src")
    if source not in sys.path:
        sys.path.insert(0, source)
    tasks = find_tasks(__import__("environment"))
    if not tasks:
        raise TypeError("package 'environment' in %s has no Task" % source)
    return tasks


class Session:
    """`tasks_in` finds the tasks of an environment's folder."""

    def __init__(self, tasks_in=None):
        self._tasks_in = tasks_in or tasks_of_package
        self._environment = None
        self._candidates = None
        self._task = None
        self._steps = []
        self._tools = {}
        self.finished = False

    def call(self, method, params):
        handler = _METHODS.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, "no method " + repr(method))
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params: expected an object")
        return handler(self, params)

    # Each method below answers the call of its name.

    def initialize(self, params):
        if params.get("protocol") != PROTOCOL_VERSION:
            raise RpcError(INVALID_PARAMS, "protocol: this SDK speaks version 1, not %r" % (params.get("protocol"),))
        import chalk
        from chalk import _paths

        paths = _param(params, "paths", dict)
        _paths.configure(paths)
        self._environment = paths.get("environment") or _paths.ENVIRONMENT_DIR
        return {"protocol": PROTOCOL_VERSION, "sdk": "python " + chalk.__version__}

    def list_tasks(self, params):
        tasks = []
        for candidate in self._all_tasks():
            task = candidate() if isinstance(candidate, type) else candidate
            steps = len(list(task.steps))
            tasks.append({"name": name_of_task(task), "required_hardware": task.required_hardware, "steps": steps})
        return {"tasks": tasks}

    def load_task(self, params):
        name, args = _param(params, "name", str), params.get("args") or {}
        candidates = self._all_tasks()
        matching = [c for c in candidates if name_of_task(c) == name] if name else candidates
        if len(matching) != 1:
            known = ", ".join(sorted(name_of_task(c) for c in candidates)) or "none"
            wanted = "no task named %r" % name if name else "the run config must name a task"
            raise RpcError(INVALID_PARAMS, "%s; the environment has: %s" % (wanted, known))
        chosen = matching[0]
        Task.seed = _seed(params)  # a host serves one run
        if isinstance(chosen, type):
            chosen = chosen(**args)
        elif args:
            raise RpcError(INVALID_PARAMS, "task %s takes no task_args: it is an instance in TASKS" % name_of_task(chosen))
        self._task, self._steps = chosen, list(chosen.steps)
        if not self._steps:
            raise RpcError(INVALID_PARAMS, "task %s has no steps" % name_of_task(chosen))
        names = [{"name": name_of_step(s, i)} for i, s in enumerate(self._steps)]
        return {"name": name_of_task(chosen), "required_hardware": chosen.required_hardware, "steps": names}

    def configure_tools(self, params):
        from chalk._tools import as_tool

        builtin, self._tools = [], {}
        for value in run_if_async(self._loaded().configure_tools()) or []:
            tool = as_tool(value)
            if isinstance(tool, str):
                builtin.append(tool)
            elif tool.name in self._tools:
                raise ValueError("two tools are named " + tool.name)
            else:
                self._tools[tool.name] = tool
        return {"tools": [t.definition() for t in self._tools.values()], "builtin": builtin}

    def pre_hook(self, params):
        return {"metadata": run_if_async(self._loaded().pre_hook())}

    def system_prompt(self, params):
        return {"text": self._loaded().system_prompt}

    def start_step(self, params):
        step = self._step(params)
        if not isinstance(step.instructions, str):
            raise TypeError("a step's instructions must be a string, not " + type(step.instructions).__name__)
        return {"instructions": step.instructions, "extra_config": dict(step.extra_config or {})}

    def call_tool(self, params):
        from chalk._tools import result_to_json

        name, arguments = _param(params, "name", str), _param(params, "arguments", dict)
        tool = self._tools.get(name)
        if tool is None:
            raise RpcError(INVALID_PARAMS, "no tool " + repr(name))
        return result_to_json(run_if_async(tool.call_with_json(arguments)))

    def solution(self, params):
        answer = run_if_async(self._step(params).solution())
        argv, env = answer if isinstance(answer, tuple) else (answer, {})
        if argv is not None and not (isinstance(argv, list) and argv and all(isinstance(a, str) for a in argv)):
            raise TypeError("a step's solution must be a list of a program and its arguments, or None, not %r" % (argv,))
        return {"argv": argv, "env": env}

    def pre_scoring_hook(self, params):
        run_if_async(self._step(params).pre_scoring_hook())
        return {}

    def judge(self, params):
        from chalk._transcript import Transcript

        judge = self._step(params).judge
        if judge is None:
            raise TypeError("the step has no judge")
        score = run_if_async(judge.evaluate(Transcript(_param(params, "transcript", dict))))
        if isinstance(score, (int, float)):
            score = Score(score)
        if not isinstance(score, Score):
            raise TypeError("a judge must return a Score or a number, not " + type(score).__name__)
        return {
            "score": score.score,
            "continue_task": score.continue_task,
            "explanation": score.explanation,
            "metadata": score.metadata,
        }

    def post_hook(self, params):
        run_if_async(self._step(params).post_hook())
        return {}

    def shutdown(self, params):
        self.finished = True
        return {}

    def _loaded(self):
        if self._task is None:
            raise RpcError(INVALID_PARAMS, "no task is loaded")
        return self._task

    def _step(self, params):
        self._loaded()
        index = _param(params, "index", int)
        if not 0 <= index < len(self._steps):
            raise RpcError(INVALID_PARAMS, "index: the task has %d steps" % len(self._steps))
        return self._steps[index]

    def _all_tasks(self):
        if self._environment is None:
            raise RpcError(INVALID_PARAMS, "initialize comes first")
        if self._candidates is None:
            self._candidates = self._tasks_in(self._environment)
        return self._candidates


_METHODS = {
    name: getattr(Session, name)
    for name in (
        "initialize",
        "list_tasks",
        "load_task",
        "configure_tools",
        "pre_hook",
        "system_prompt",
        "start_step",
        "call_tool",
        "solution",
        "pre_scoring_hook",
        "judge",
        "post_hook",
        "shutdown",
    )
}
