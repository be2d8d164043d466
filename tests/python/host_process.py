"""An environment host under test: started as the harness starts it, spoken to line by line."""

import json
import os
import shutil
import subprocess
import tempfile
import textwrap
import threading

SDK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python")
PYTHON = "/usr/bin/python3"
DEADLINE_S = 30


class RpcFailure(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.traceback = (error.get("data") or {}).get("traceback", "")


class EnvironmentFolder:
    """A temporary environment: `files` maps paths below src/environment/ to their text."""

    def __init__(self, source=None, files=None):
        self.path = tempfile.mkdtemp(prefix="chalk_test_env_")
        for name, text in (files or {"__init__.py": source}).items():
            file = os.path.join(self.path, "src", "environment", name)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8") as out:
                out.write(textwrap.dedent(text))

    def remove(self):
        shutil.rmtree(self.path)


class HostProcess:
    """Use as a context manager. Logs that came before an answer are in `logs`."""

    def __init__(self, source=None, files=None, python_flags=(), environment=None):
        """`environment`: an existing folder, which stays, with its root_data."""
        self._folder = None if environment else EnvironmentFolder(source, files)
        self._environment = environment or self._folder.path
        self.workdir = tempfile.mkdtemp(prefix="chalk_test_workdir_")
        os.chmod(self.workdir, 0o777)
        self.logs = []
        self.reports = []  # params of what names a call
        self._next = 1
        self._process = subprocess.Popen(
            [PYTHON, "-B", *python_flags, "-m", "chalk.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": SDK, "HOME": self.workdir},
        )
        # A host that hangs fails its test: it is killed, which ends every read below.
        self._watchdog = threading.Timer(DEADLINE_S, self._process.kill)
        self._watchdog.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._watchdog.cancel()
        self._process.kill()
        self._process.communicate()
        if self._folder:
            self._folder.remove()
        shutil.rmtree(self.workdir)

    @property
    def pid(self):
        return self._process.pid

    def send_line(self, text):
        self._process.stdin.write(text.encode() + b"\n")
        self._process.stdin.flush()

    def read_message(self):
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the host closed its output")
        return json.loads(line)

    def send(self, method, **params):
        number, self._next = self._next, self._next + 1
        self.send_line(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def notify(self, method, **params):
        self.send_line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def answer(self, number):
        while True:
            message = self.read_message()
            if "method" in message and "call" in message["params"]:
                self.reports.append((message["method"], message["params"]))
                continue
            if message.get("method") == "log":
                self.logs.append((message["params"]["level"], message["params"]["text"]))
                continue
            assert message["jsonrpc"] == "2.0" and message["id"] == number, message
            if "error" in message:
                raise RpcFailure(message["error"])
            return message["result"]

    def call(self, method, **params):
        return self.answer(self.send(method, **params))

    def initialize(self):
        paths = {
            "workdir": self.workdir,
            "student_data": self.workdir + "/data",
            "shared_data": self.workdir + "/shared",
            "root_data": self._environment + "/root_data",
            "intermediate_data": self.workdir + "/intermediate_data",
            "out": self.workdir + "/out",
            "environment": self._environment,
        }
        return self.call("initialize", protocol=1, chalk_version="0.1.0", paths=paths)

    def load(self, name="", **args):
        self.initialize()
        return self.call("load_task", name=name, args=args)

    def close_input(self):
        self._process.stdin.close()

    def end(self):
        """Waits; returns (exit status, what was left on standard error)."""
        _, errors = self._process.communicate()
        return self._process.returncode, errors.decode()
