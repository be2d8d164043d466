"""The SDK's small parts: JSON, paths, the protected store, the transcript, scores."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import chalk
from chalk import ProtectedStore, Score, StepStartedEvent, Transcript
from chalk._json_lines import dumps, loads
from host_process import PYTHON, SDK


class JsonLines(unittest.TestCase):
    VALUES = [None, True, 0, -1, 1.5, 1e300, 10**40, "", 'q"\\\n\u2028é\U0001f600', [], {}, [1, [2, {"a": None}]]]

    def test_it_agrees_with_the_json_package_both_ways(self):
        for value in self.VALUES:
            with self.subTest(value=value):
                self.assertEqual(json.loads(dumps(value)), value)
                self.assertEqual(loads(json.dumps(value)), value)
                self.assertNotIn("\n", dumps(value))

    def test_what_is_not_one_json_value_is_refused(self):
        for text in ("", " ", "{", "[1,]", "1 2", "nul", "NaN", "-Infinity", '"a\nb"', "{'a':1}"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                loads(text)

    def test_what_json_cannot_hold_is_refused(self):
        cycle = []
        cycle.append(cycle)
        for value in (float("nan"), float("inf"), cycle):
            with self.assertRaises(ValueError):
                dumps(value)
        with self.assertRaises(TypeError):
            dumps(object())
        self.assertEqual(dumps([]), "[]")


class Names(unittest.TestCase):
    def test_every_public_name_is_there(self):
        for name in chalk.__all__:
            self.assertIsNotNone(getattr(chalk, name), name)
        self.assertIn("Task", dir(chalk))
        with self.assertRaises(AttributeError):
            chalk.nothing

    def test_paths_come_from_the_environment_where_the_harness_said_nothing(self):
        code = "from chalk import *; print(STUDENT_WORKDIR / 'a', ROOT_DATA)"
        env = {"PYTHONPATH": SDK, "CHALK_PATHS_WORKDIR": "/elsewhere"}
        out = subprocess.run([PYTHON, "-B", "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "/elsewhere/a /root_data\n")


class Store(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="chalk_test_store_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = ProtectedStore(os.path.join(self.folder, "protected"))

    def test_values_come_back_as_they_were_written(self):
        for value, kind in (("text", str), (b"\0\xff", bytes), ({"a": [1]}, dict)):
            self.store.write("entry", value)
            self.assertEqual(self.store.read("entry", kind), value)

    def test_a_pydantic_like_model_comes_back(self):
        class Model:
            def __init__(self, data):
                self.data = data

            def model_dump_json(self):
                return self.data

            @classmethod
            def model_validate_json(cls, data):
                return cls(data.decode())

        self.store.write("m", Model('{"x":1}'))
        self.assertEqual(self.store.read("m", Model).data, '{"x":1}')

    def test_only_the_owner_can_read_the_files(self):
        self.store.write("entry", "secret")
        self.assertEqual(os.stat(self.store.folder).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(os.path.join(self.store.folder, "entry")).st_mode & 0o777, 0o600)
        self.assertEqual(os.listdir(self.store.folder), ["entry"])

    def test_names_cannot_leave_the_folder(self):
        for key in ("", "../x", "a/b", ".hidden", "a b"):
            with self.assertRaises(ValueError):
                self.store.write(key, "x")

    def test_other_types_and_missing_entries_are_errors(self):
        with self.assertRaises(TypeError):
            self.store.write("x", 1)
        with self.assertRaisesRegex(KeyError, "no entry 'gone'"):
            self.store.read("gone")

    def test_the_default_folder_is_below_the_home_folder(self):
        self.assertEqual(ProtectedStore().folder, os.path.expanduser("~/.config/chalk/protected"))


class TranscriptViews(unittest.TestCase):
    DOCUMENT = {
        "run_id": "r",
        "events": [
            {"seq": 1, "type": "TaskStartedEvent", "task": "t"},
            {"seq": 2, "type": "StepStartedEvent", "index": 0, "name": "one", "instructions": "do"},
            {"seq": 3, "type": "MessageEvent", "role": "user", "text": "do"},
            {"seq": 4, "type": "ToolResultEvent", "call_id": "c", "text": "ok"},
            {"seq": 5, "type": "ScoringEvent", "step": 0, "score": 0.5},
            {"seq": 6, "type": "StepStartedEvent", "index": 1, "name": "two", "instructions": "more"},
            {"seq": 7, "type": "MessageEvent", "role": "assistant", "text": "done"},
            {"seq": 8, "type": "EventOfTheFuture", "x": 1},
            {"seq": 9, "type": "MessageEvent", "role": "assistant", "text": "hal", "aborted": True},
        ],
    }

    def test_events_have_their_classes_and_fields(self):
        events = Transcript(self.DOCUMENT).events
        self.assertIsInstance(events[1], StepStartedEvent)
        self.assertEqual((events[1].name, events[7].x), ("one", 1))
        with self.assertRaisesRegex(AttributeError, "StepStartedEvent has no field 'score'"):
            events[1].score

    def test_messages_and_steps_are_views_of_the_events(self):
        transcript = Transcript(self.DOCUMENT)
        self.assertEqual([m.text for m in transcript.messages], ["do", "done"])
        first, second = transcript.steps
        self.assertEqual((first.name, first.score, len(first.tool_results)), ("one", 0.5, 1))
        self.assertEqual((second.index, second.score, second.messages[0].text), (1, None, "done"))
        self.assertEqual(len(second.messages), 1)


class Scores(unittest.TestCase):
    def test_a_score_is_a_finite_number(self):
        self.assertEqual(Score(1).score, 1.0)
        for bad in (float("nan"), float("inf"), "x", None):
            with self.assertRaises((TypeError, ValueError)):
                Score(bad)


if __name__ == "__main__":
    unittest.main()
