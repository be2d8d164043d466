#!/usr/bin/python3
"""Writes ../fake_model.json and ../fake_model_broken.json, whose tool calls hold the validators of this folder.

A test holds the committed scripts against what this writes.
"""

import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def source(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def writes(name, text):
    return {"text": text, "tool_calls": [call("write_file", path="/workdir/validator.py", content=source(name))]}


def tries(schema, instance):
    code = "from validator import is_valid; print(is_valid(%r, %r, {}))" % (schema, instance)
    command = "cd /workdir && /usr/bin/python3 -B -c '%s'" % code.replace("'", '"')
    return {"text": "Does it run?", "tool_calls": [call("bash", command=command)]}


def scripts():
    good = [
        [
            writes("step_one.py", "I write the keywords that look at one value."),
            tries({"type": "integer", "minimum": 2}, 3),
            {"text": "The core keywords are done."},
        ],
        [
            {
                "text": "I look at what is there.",
                "tool_calls": [call("read_file", path="/workdir/validator.py")],
            },
            writes("step_two.py", "Now with subschemas and references."),
            tries({"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}}, "x"),
            {"text": "All keywords are there; $id does not change the base of a reference yet."},
        ],
    ]
    broken = [
        [writes("broken.py", "A type is all there is."), {"text": "Done."}],
        [{"text": "Nothing to improve."}],
    ]
    return {"fake_model.json": good, "fake_model_broken.json": broken}


def main():
    for name, script in scripts().items():
        with open(os.path.join(HERE, "..", name), "w", encoding="utf-8") as file:
            json.dump(script, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
