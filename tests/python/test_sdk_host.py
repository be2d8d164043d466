"""The environment host, from outside: every method, errors, prints, cancellation, the end of the stream."""

import os
import unittest

from host_process import HostProcess, RpcFailure

FULL = """
    import os
    from chalk import (Judge, OUT_DIR, ROOT_DATA, SHARED_DATA, STUDENT_DATA, STUDENT_WORKDIR, INTERMEDIATE_DATA,
                       Score, Step, StudentMisbehaviorError, Task, ToolResult, tool)

    class ShareOfCalls(Judge):
        def evaluate(self, transcript):
            print("judging", len(transcript.messages), "messages")
            return Score(0.25, continue_task=False, explanation="a quarter", metadata={"n": len(transcript.events)})

    class Raises(Judge):
        def evaluate(self, transcript):
            raise StudentMisbehaviorError("copied the answer")

    class Second(Step):
        instructions = "now the rest"
        extra_config = {"extra_artifact_paths": ["a.txt"]}
        judge = Raises()

    class Everything(Task):
        required_hardware = "cpu-small"
        system_prompt = "be brief"

        @property
        def steps(self):
            return [Step(name="first", instructions="work on " + self.args.get("topic", "it"), judge=ShareOfCalls()),
                    Second()]

        def configure_tools(self):
            return [self.add, self.fail, self.report, self.wait, "bash"]

        def pre_hook(self):
            return {"places": [STUDENT_WORKDIR, STUDENT_DATA, SHARED_DATA, ROOT_DATA, INTERMEDIATE_DATA, OUT_DIR]}

        @tool
        def add(self, a: int, b: int = 1) -> int:
            "Adds two numbers."
            return a + b

        @tool(name="crash", timeout_s=5)
        def fail(self):
            raise ValueError("broken tool")

        @tool
        async def report(self):
            return ToolResult("no luck", is_error=True)

        @tool
        def wait(self):
            import time
            print("waiting", flush=True)
            time.sleep(600)
"""


class Lifecycle(unittest.TestCase):
    def setUp(self):
        self.host = HostProcess(FULL)
        self.addCleanup(self.host.__exit__)

    def test_the_handshake_names_protocol_and_sdk(self):
        self.assertEqual(self.host.initialize(), {"protocol": 1, "sdk": "python 0.1.0"})

    def test_another_protocol_version_is_refused(self):
        with self.assertRaises(RpcFailure) as caught:
            self.host.call("initialize", protocol=2, paths={})
        self.assertEqual(caught.exception.code, -32602)

    def test_tasks_are_listed_with_hardware_and_number_of_steps(self):
        self.host.initialize()
        self.assertEqual(
            self.host.call("list_tasks"),
            {"tasks": [{"name": "Everything", "required_hardware": "cpu-small", "steps": 2}]},
        )

    def test_a_task_loads_with_its_arguments_and_names_its_steps(self):
        loaded = self.host.load(topic="fractions")
        self.assertEqual(loaded["steps"], [{"name": "first"}, {"name": "Second"}])
        step = self.host.call("start_step", index=0)
        self.assertEqual(step, {"instructions": "work on fractions", "extra_config": {}})

    def test_a_subclassed_step_has_its_own_extra_config(self):
        self.host.load()
        self.assertEqual(
            self.host.call("start_step", index=1),
            {"instructions": "now the rest", "extra_config": {"extra_artifact_paths": ["a.txt"]}},
        )

    def test_tools_are_reported_with_schema_timeout_and_builtin_names(self):
        self.host.load()
        answer = self.host.call("configure_tools")
        self.assertEqual(answer["builtin"], ["bash"])
        add, crash = answer["tools"][0], answer["tools"][1]
        self.assertEqual(add["description"], "Adds two numbers.")
        self.assertEqual(add["input_schema"]["required"], ["a"])
        self.assertEqual((crash["name"], crash["timeout_s"]), ("crash", 5))

    def test_a_tool_answers_text(self):
        self.host.load()
        self.host.call("configure_tools")
        self.assertEqual(
            self.host.call("call_tool", name="add", arguments={"a": 41}),
            {"content": [{"type": "text", "text": "42"}], "is_error": False},
        )

    def test_a_coroutine_tool_may_answer_an_error_result(self):
        self.host.load()
        self.host.call("configure_tools")
        answer = self.host.call("call_tool", name="report", arguments={})
        self.assertTrue(answer["is_error"])
        self.assertEqual(answer["content"][0]["text"], "no luck")

    def test_an_exception_of_a_tool_is_answered_with_its_traceback(self):
        self.host.load()
        self.host.call("configure_tools")
        with self.assertRaises(RpcFailure) as caught:
            self.host.call("call_tool", name="crash", arguments={})
        self.assertEqual(caught.exception.code, -32000)
        self.assertEqual(str(caught.exception), "ValueError: broken tool")
        self.assertIn("in fail", caught.exception.traceback)

    def test_an_unknown_tool_is_refused(self):
        self.host.load()
        self.host.call("configure_tools")
        with self.assertRaises(RpcFailure) as caught:
            self.host.call("call_tool", name="nothing", arguments={})
        self.assertEqual(caught.exception.code, -32602)

    def test_a_run_goes_through_hooks_and_judge(self):
        self.host.load()
        self.assertEqual(self.host.call("system_prompt"), {"text": "be brief"})
        places = self.host.call("pre_hook")["metadata"]["places"]
        self.assertEqual(places[0], self.host.workdir)
        self.assertEqual(places[5], self.host.workdir + "/out")
        self.assertEqual(self.host.call("pre_scoring_hook", index=0), {})
        transcript = {"events": [{"type": "MessageEvent", "role": "user", "text": "hi"}, {"type": "LogEvent"}]}
        self.assertEqual(
            self.host.call("judge", index=0, transcript=transcript),
            {"score": 0.25, "continue_task": False, "explanation": "a quarter", "metadata": {"n": 2}},
        )
        self.assertEqual(self.host.call("post_hook", index=0), {})
        self.assertIn(("info", "judging 1 messages"), self.host.logs)

    def test_misbehaviour_has_its_own_code(self):
        self.host.load()
        with self.assertRaises(RpcFailure) as caught:
            self.host.call("judge", index=1, transcript={})
        self.assertEqual(caught.exception.code, -32001)
        self.assertEqual(str(caught.exception), "copied the answer")

    def test_a_cancelled_call_is_interrupted_and_the_host_goes_on(self):
        self.host.load()
        self.host.call("configure_tools")
        number = self.host.send("call_tool", name="wait", arguments={})
        self.assertEqual(self.host.read_message()["params"]["text"], "waiting")
        self.host.notify("cancel", id=number)
        with self.assertRaises(RpcFailure) as caught:
            self.host.answer(number)
        self.assertEqual(caught.exception.code, -32002)
        self.assertEqual(self.host.call("call_tool", name="add", arguments={"a": 1})["content"][0]["text"], "2")

    def test_a_cancel_reaches_a_call_that_still_waits_for_its_turn(self):
        self.host.load()
        self.host.call("configure_tools")
        first = self.host.send("call_tool", name="wait", arguments={})
        self.host.read_message()
        second = self.host.send("call_tool", name="add", arguments={"a": 1})
        self.host.notify("cancel", id=second)
        self.host.notify("cancel", id=first)
        for number in (first, second):
            with self.assertRaises(RpcFailure) as caught:
                self.host.answer(number)
            self.assertEqual(caught.exception.code, -32002)

    def test_shutdown_answers_and_ends_with_status_0(self):
        self.host.load()
        self.assertEqual(self.host.call("shutdown"), {})
        self.assertEqual(self.host.end(), (0, ""))

    def test_the_end_of_the_stream_ends_the_host(self):
        self.host.load()
        self.host.close_input()
        self.host._process.stdin = None
        self.assertEqual(self.host.end()[0], 0)

    def test_the_end_of_the_stream_ends_a_host_that_is_busy(self):
        self.host.load()
        self.host.call("configure_tools")
        self.host.send("call_tool", name="wait", arguments={})
        self.host.read_message()
        self.host.close_input()
        self.host._process.stdin = None
        self.assertEqual(self.host.end()[0], 70)

    def test_unknown_methods_and_lines_that_are_not_json_are_answered(self):
        self.host.initialize()
        with self.assertRaises(RpcFailure) as caught:
            self.host.call("dance")
        self.assertEqual(caught.exception.code, -32601)
        self.host.send_line("{nonsense")
        self.assertEqual(self.host.read_message()["error"]["code"], -32700)
        self.host.send_line('{"id": 7}')
        self.assertEqual(self.host.read_message()["error"]["code"], -32600)
        self.host.send_line('{"jsonrpc":"2.0","id":"x","method":"system_prompt"} trailing')
        self.assertEqual(self.host.read_message()["error"]["code"], -32700)

    def test_calls_out_of_order_are_refused_with_the_reason(self):
        for method, params in (("list_tasks", {}), ("pre_hook", {}), ("judge", {"index": 0, "transcript": {}})):
            with self.assertRaises(RpcFailure) as caught:
                self.host.call(method, **params)
            self.assertEqual(caught.exception.code, -32602)


def one_step(judge_body, prefix=""):
    return (
        "import os, sys, subprocess\nfrom chalk import *\n"
        + prefix
        + "\nclass J(Judge):\n    def evaluate(self, transcript):\n"
        + "".join("        %s\n" % line for line in judge_body.splitlines())
        + "class Only(Task):\n    steps = [Step(instructions='x', judge=J())]\n"
    )


TOOLS_THAT_REPORT = """
import os, threading
from chalk import *

class Only(Task):
    steps = [Step(instructions="x")]

    def configure_tools(self):
        return [self.count, self.odd, self.huge]

    def pre_hook(self):
        report_progress(1)
        log("of no call", "debug")

    @tool
    def count(self, to: int):
        for i in range(1, to + 1):
            report_progress(i, to, f"at {i}")
        log("nearly there", "warning")
        thread = threading.Thread(target=log, args=("from a thread",))
        thread.start()
        thread.join()
        pid = os.fork()
        if pid == 0:
            log("from a child")
            os._exit(0)
        os.waitpid(pid, 0)
        report_progress(to + 0.5)
        return "counted"

    @tool
    def odd(self, what: str):
        if what == "level":
            log("x", "loud")
        report_progress(float("nan"))

    @tool
    def huge(self):
        return "x" * (65 << 20)
"""


class WhatToolsReport(unittest.TestCase):
    def setUp(self):
        self.host = HostProcess(TOOLS_THAT_REPORT)
        self.addCleanup(self.host.__exit__)
        self.host.load()
        self.host.call("configure_tools")

    def test_progress_and_log_lines_name_the_call_they_belong_to(self):
        number = self.host.send("call_tool", name="count", arguments={"to": 2})
        self.assertEqual(self.host.answer(number)["content"][0]["text"], "counted")
        self.assertEqual(self.host.reports, [
            ("progress", {"call": number, "done": 1.0, "message": "at 1", "total": 2.0}),
            ("progress", {"call": number, "done": 2.0, "message": "at 2", "total": 2.0}),
            ("log", {"level": "warning", "text": "nearly there", "call": number}),
            ("log", {"level": "info", "text": "from a thread", "call": number}),
            ("progress", {"call": number, "done": 2.5, "message": ""}),
        ])

    def test_outside_of_a_tool_progress_is_nobodys_and_a_log_line_names_no_call(self):
        self.host.call("pre_hook")
        self.assertEqual((self.host.reports, self.host.logs), ([], [("debug", "of no call")]))

    def test_what_is_no_level_or_no_number_is_the_tools_error(self):
        for what, said in (("level", "level: one of"), ("nan", "done: a finite number")):
            with self.assertRaises(RpcFailure) as caught:
                self.host.call("call_tool", name="odd", arguments={"what": what})
            self.assertIn(said, str(caught.exception))

    def test_an_answer_beyond_64_mib_is_an_error_of_its_call_alone(self):
        with self.assertRaises(RpcFailure) as caught:
            self.host.call("call_tool", name="huge", arguments={})
        self.assertIn("64 MiB", str(caught.exception))
        self.assertEqual(self.host.call("call_tool", name="count", arguments={"to": 1})["is_error"], False)


class WhatEnvironmentsPrint(unittest.TestCase):
    def judge(self, body, prefix=""):
        with HostProcess(files={"__init__.py": one_step(body, prefix)}) as host:
            host.load()
            try:
                result = host.call("judge", index=0, transcript={})
            except RpcFailure as failure:
                result = failure
            host.call("shutdown")
            status, errors = host.end()
            self.assertEqual(status, 0)
            return result, host.logs, errors

    def test_prints_become_logs_line_by_line_before_the_answer(self):
        result, logs, _ = self.judge("print('one\\ntwo', end='')\nreturn 1")
        self.assertEqual(result["score"], 1.0)
        self.assertEqual(logs, [("info", "one"), ("info", "two")])

    def test_what_child_processes_and_raw_descriptors_print_goes_to_standard_error(self):
        body = "subprocess.run(['echo', 'from a child'])\nos.write(1, b'raw\\n')\nsys.__stdout__.write('old\\n')\n"
        body += "sys.__stdout__.flush()\nsys.stdout.buffer.write(b'bytes\\n')\nsys.stdout.buffer.flush()\nreturn 1"
        result, logs, errors = self.judge(body)
        self.assertEqual((result["score"], logs), (1.0, []))
        self.assertEqual(sorted(errors.split("\n")), ["", "bytes", "from a child", "old", "raw"])

    def test_a_forked_child_cannot_reach_the_wire(self):
        body = "pid = os.fork()\nif pid == 0:\n    print('in the child', flush=True)\n    os._exit(0)\n"
        body += "os.waitpid(pid, 0)\nreturn 1"
        result, logs, errors = self.judge(body)
        self.assertEqual((result["score"], logs, errors), (1.0, [], "in the child\n"))

    def test_standard_input_is_empty(self):
        result, _, _ = self.judge("return 1 if sys.stdin.read() == '' and os.read(0, 1) == b'' else 0")
        self.assertEqual(result["score"], 1.0)

    def test_an_endless_line_is_cut(self):
        _, logs, _ = self.judge("print('x' * 100000)\nreturn 1")
        self.assertEqual(len(logs), 1)
        self.assertLess(len(logs[0][1]), 9000)
        self.assertIn("91808 characters cut", logs[0][1])

    def test_lone_surrogates_do_not_break_the_wire(self):
        result, logs, _ = self.judge("print('a\\udc80b')\nreturn Score(1, explanation='c\\ud800')")
        self.assertEqual((result["explanation"], logs), ("c?", [("info", "a?b")]))

    def test_sys_exit_in_a_judge_is_its_error_and_not_the_end(self):
        result, _, _ = self.judge("sys.exit(3)")
        self.assertEqual((result.code, str(result)), (-32000, "SystemExit: 3"))

    def test_scores_that_are_not_numbers_are_errors(self):
        for body in ("return float('nan')", "return None", "return 'good'", "return Score(float('inf'))"):
            result, _, _ = self.judge(body)
            self.assertEqual(result.code, -32000, body)

    def test_metadata_that_json_cannot_hold_is_an_error(self):
        result, _, _ = self.judge("return Score(1, metadata={'x': object()})")
        self.assertEqual((result.code, str(result)), (-32000, "TypeError: not representable as JSON: object"))


class FindingTasks(unittest.TestCase):
    def names(self, files):
        with HostProcess(files=files) as host:
            host.initialize()
            return [t["name"] for t in host.call("list_tasks")["tasks"]]

    def test_a_list_named_tasks_wins(self):
        source = """
            from chalk import Task
            class A(Task): pass
            class B(Task): name = "bee"
            TASKS = [B, B]
        """
        self.assertEqual(self.names({"__init__.py": source}), ["bee", "bee"])

    def test_submodules_are_searched_when_the_package_names_no_task(self):
        files = {
            "__init__.py": "",
            "easy.py": "from chalk import Task\nclass Easy(Task): pass\nclass _Base(Task): pass\n",
            "hard/__init__.py": "from chalk import Task\nfrom environment.easy import Easy\nclass Hard(Easy): pass\n",
        }
        self.assertEqual(self.names(files), ["Easy", "Hard"])

    def test_a_name_is_needed_where_there_are_several(self):
        source = "from chalk import *\nclass A(Task): steps=[Step()]\nclass B(Task): steps=[Step()]\n"
        with HostProcess(files={"__init__.py": source}) as host:
            host.initialize()
            with self.assertRaises(RpcFailure) as caught:
                host.call("load_task", name="", args={})
            self.assertIn("A, B", str(caught.exception))
            self.assertEqual(host.call("load_task", name="B", args={})["name"], "B")

    def test_a_task_has_the_runs_seed_from_its_start_on(self):
        source = """
            from chalk import *
            class Drawn(Task):
                steps = [Step()]
                def __init__(self): self.at_start = self.seed
                def pre_hook(self): return [self.at_start, self.seed]
        """
        with HostProcess(files={"__init__.py": source}) as host:
            host.initialize()
            host.call("load_task", name="", args={})
            self.assertEqual(host.call("pre_hook"), {"metadata": [None, None]})
            host.call("load_task", name="", args={}, seed=9007199254740991)
            self.assertEqual(host.call("pre_hook"), {"metadata": [9007199254740991] * 2})
            for wrong in (-1, 1.5, "1", True):
                with self.assertRaises(RpcFailure):
                    host.call("load_task", name="", args={}, seed=wrong)

    def test_an_environment_that_does_not_import_is_reported_with_its_traceback(self):
        with HostProcess(files={"__init__.py": "import nothing_of_that_name"}) as host:
            host.initialize()
            with self.assertRaises(RpcFailure) as caught:
                host.call("load_task", name="", args={})
            self.assertIn("ModuleNotFoundError", caught.exception.traceback)


class Start(unittest.TestCase):
    def test_nothing_heavy_is_imported_before_the_environment_is(self):
        body = "return Score(1, metadata=sorted(sys.modules))"
        source = "import sys\n" + one_step(body).replace("import os, sys, subprocess", "")
        with HostProcess(files={"__init__.py": source}, python_flags=("-S",)) as host:
            host.load()
            loaded = host.call("judge", index=0, transcript={})["metadata"]
        heavy = {"json", "typing", "inspect", "dataclasses", "asyncio", "re", "enum", "subprocess", "pathlib", "ctypes"}
        self.assertEqual(heavy.intersection(loaded), set())


if __name__ == "__main__":
    unittest.main()
