"""The test suite, as setup_data.py left it in root_data."""

import json
import os

SERVED_AT = "http://localhost:1234/"  # where the suite's schemas believe its remotes/ to be
DRAFT7 = "http://json-schema.org/draft-07/schema"


class Suite:
    """groups: dicts with `file`, `schema`, `tests` (each with `data` and `valid`). remotes: documents by URI."""

    def __init__(self, folder):
        self.groups = []
        cases = os.path.join(folder, "tests", "draft7")
        for name in sorted(os.listdir(cases)):
            if name.endswith(".json"):
                with open(os.path.join(cases, name), encoding="utf-8") as file:
                    self.groups += [{"file": name, "schema": g["schema"], "tests": g["tests"]} for g in json.load(file)]
        self.remotes = read_remotes(os.path.join(folder, "remotes"))

    @property
    def questions(self):
        """What the student's code gets to see: no answers."""
        groups = [{"schema": g["schema"], "instances": [t["data"] for t in g["tests"]]} for g in self.groups]
        return {"remotes": self.remotes, "groups": groups}


def read_remotes(folder):
    remotes = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, encoding="utf-8") as file:
                remotes[SERVED_AT + os.path.relpath(path, folder)] = json.load(file)
    with open(os.path.join(os.path.dirname(__file__), "draft7.json"), encoding="utf-8") as file:
        remotes[DRAFT7] = json.load(file)
    return remotes
