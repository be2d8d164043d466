"""An environment of sweeps: its score follows from its item and its seed alone, and where `task_args.ledger` names a file
outside chalk, each start and end of an attempt is appended there."""

import hashlib
import os
import time

from chalk import Judge, Score, Step, Task


def score_of(item, seed):
    return int.from_bytes(hashlib.sha256(f"{item} {seed}".encode()).digest()[:4], "big") / 2**32


class LedgerJudge(Judge):
    def __init__(self, task):
        self.task = task

    def evaluate(self, transcript):
        task = self.task
        score = score_of(task.item, task.seed)
        if task.fault == "raise":
            raise RuntimeError("the judge raises, as it was told to")
        if task.fault == "hang":
            time.sleep(3600)
        task.note(f"end {score!r}")
        return Score(score, continue_task=score >= 0.5)


class Ledger(Task):
    name = "ledger"

    def __init__(self, item=0, ledger=None, work_s=0.0, faults=None):
        super().__init__()
        self.item, self.ledger, self.work_s = item, ledger, work_s
        self.run = os.environ["CHALK_RUN_ID"]
        self.seed = int(os.environ.get("CHALK_SEED", "0"))
        # {"raise": [items], "hang": [items], "wait": [items]}: what the judge, or before the first step "wait", does.
        self.fault = next((name for name, items in (faults or {}).items() if item in items), None)
        self.steps = [Step(name="only", instructions="Say anything.", judge=LedgerJudge(self))]

    def note(self, text):
        if self.ledger:
            # One write below the size of a pipe: appends of many processes do not mix.
            fd = os.open(self.ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.write(fd, f"{self.run} {text}\n".encode())
            os.close(fd)

    def pre_hook(self):
        self.note("start")
        time.sleep(3600 if self.fault == "wait" else self.work_s)


tasks = [Ledger]
