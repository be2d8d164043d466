"""An environment whose runs can be seen from outside: each works for a while and, while it does, appends a
line to a file outside chalk every 50 ms: its run, what tells this attempt from others, and the machine's clock."""

import os
import time

from chalk import Judge, Score, Step, Task

EVERY_S = 0.05


class StampsJudge(Judge):
    def __init__(self, task):
        self.task = task

    def evaluate(self, transcript):
        self.task.stamp()
        return Score(1 / (1 + self.task.item))


class Stamps(Task):
    name = "stamps"

    def __init__(self, item=0, stamps=None, work_s=0.5, long_s=0.0, long_every=8):
        """Every `long_every`th item works for `long_s` in the place of `work_s`, unless that is 0."""
        super().__init__()
        self.run, self.item = os.environ["CHALK_RUN_ID"], item
        self.work_s = long_s if long_s and item % long_every == 0 else work_s
        self.file = stamps and os.open(stamps, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.steps = [Step(name="only", instructions="Say anything.", judge=StampsJudge(self))]

    def stamp(self):
        if self.file:
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            # One short write: appends of many processes do not mix.
            os.write(self.file, f"{self.run} {os.getpid()} {now}\n".encode())

    def pre_hook(self):
        until = time.monotonic() + self.work_s
        self.stamp()
        while time.monotonic() < until:
            time.sleep(EVERY_S)
            self.stamp()


tasks = [Stamps]
