"""Scores /workdir/validator.py: the share of the suite's cases that it decides rightly."""

import json
import os

from chalk import ROOT_DATA, STUDENT_WORKDIR, Judge, Score, run_as_student

from environment.suite import Suite

TIME_LIMIT_S = 30
MEMORY = 1 << 30
PYTHON = "/usr/bin/python3"


def suite_folder():
    return ROOT_DATA / "suite"


class SharePassed(Judge):
    def evaluate(self, transcript):
        suite = Suite(suite_folder())
        with open(os.path.join(os.path.dirname(__file__), "ask.py"), encoding="utf-8") as file:
            asking = file.read()
        done = run_as_student(
            [PYTHON, "-I", "-S", "-B", "-c", asking],
            input=json.dumps(suite.questions),
            cwd=STUDENT_WORKDIR,
            timeout=TIME_LIMIT_S,
            memory=MEMORY,
        )
        answers = read_answers(done.stdout, len(suite.groups))
        return score(suite, answers, how_it_ended(done))


def read_answers(text, count):
    """{group: [answers]}. The student's own process wrote this: whatever is malformed is no answer."""
    answers = {}
    for line in text.splitlines():
        try:
            number, given = json.loads(line)
        except (ValueError, TypeError):
            continue
        if isinstance(number, int) and 0 <= number < count and isinstance(given, list):
            answers[number] = given
    return answers


def how_it_ended(done):
    if done.timed_out:
        return "; stopped after %d s" % TIME_LIMIT_S
    if done.exit_code != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        return "; ended with %d: %s" % (done.exit_code, last[0][:200])
    return ""


def score(suite, answers, remark):
    passed_of, total_of = {}, {}
    for number, group in enumerate(suite.groups):
        given = answers.get(number, [])
        right = sum(1 for test, answer in zip(group["tests"], given) if answer is test["valid"])
        passed_of[group["file"]] = passed_of.get(group["file"], 0) + right
        total_of[group["file"]] = total_of.get(group["file"], 0) + len(group["tests"])
    passed, total = sum(passed_of.values()), sum(total_of.values())
    failing = {name: "%d of %d" % (passed_of[name], total_of[name]) for name in total_of if passed_of[name] < total_of[name]}
    return Score(
        passed / total,
        explanation="%d of %d cases%s" % (passed, total, remark),
        metadata={"passed": passed, "total": total, "incomplete": failing},
    )
