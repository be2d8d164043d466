#!/usr/bin/python3
"""Scores a validator file with the test suite, on its own: no chalk, no sandbox, one process.

    rescore.py VALIDATOR [--suite FOLDER]

Prints the score as chalk's judge computes it: cases decided rightly over all required cases of draft 7. It runs the
validator as you: give it files you trust.
"""

import argparse
import contextlib
import glob
import json
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def too_slow(number, frame):
    raise TimeoutError


def remotes(suite):
    folder = os.path.join(suite, "remotes")
    found = {}
    for path in glob.glob(os.path.join(folder, "**", "*.json"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found["http://localhost:1234/" + os.path.relpath(path, folder)] = json.load(file)
    with open(os.path.join(HERE, "src", "environment", "draft7.json"), encoding="utf-8") as file:
        found["http://json-schema.org/draft-07/schema"] = json.load(file)
    return found


def decides_rightly(validator, schema, test, documents):
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    try:
        return validator["is_valid"](schema, test["data"], documents) is test["valid"]
    except Exception:
        return False  # an exception is a wrong answer
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main():
    parser = argparse.ArgumentParser(description="scores a validator file with the JSON Schema test suite")
    parser.add_argument("validator")
    parser.add_argument("--suite", default=os.path.join(HERE, "root_data", "suite"))
    options = parser.parse_args()

    files = sorted(glob.glob(os.path.join(options.suite, "tests", "draft7", "*.json")))
    if not files:
        sys.exit(options.suite + " holds no test suite; run setup_data.py")
    documents = remotes(options.suite)
    signal.signal(signal.SIGALRM, too_slow)
    validator = {"__name__": "validator"}
    passed = total = 0
    with contextlib.redirect_stdout(sys.stderr):
        with open(options.validator, encoding="utf-8") as file:
            exec(compile(file.read(), options.validator, "exec"), validator)
        for path in files:
            with open(path, encoding="utf-8") as file:
                for group in json.load(file):
                    for test in group["tests"]:
                        total += 1
                        passed += decides_rightly(validator, group["schema"], test, documents)
    print(repr(passed / total))


if __name__ == "__main__":
    main()
