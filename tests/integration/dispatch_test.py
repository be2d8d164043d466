"""Empty runs through the whole tree with a durable journal: what nothing but the tree and the journal is part of."""

import json
import os

from support.chalk import ChalkTest, chalk, main

RUNS = 4000


class Dispatch(ChalkTest):
    def test_every_outcome_is_in_the_journal_and_finished_runs_leave_no_memory_behind(self):
        # The sanitiser keeps freed memory back, which would look like growth.
        options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
        done = chalk("bench", "dispatch", "--count", RUNS, "--concurrency", 64, "--json", check=0, timeout=240,
                     env={"ASAN_OPTIONS": options})
        said = json.loads(done.stdout)
        self.assertEqual(said["runs"], RUNS)
        self.assertEqual(said["errors"], RUNS // 100)
        self.assertEqual(said["injected"], RUNS // 100)
        grown = said["memory_bytes_at_the_end"] - said["memory_bytes_after_a_tenth"]
        # Resident memory: the sanitiser's own keeps growing by some 1.8 KiB a run for so few of them. A node that held on to
        # a run's actor would add as much again and more.
        self.assertLess(grown / (0.9 * RUNS), 3 << 10, said)


if __name__ == "__main__":
    main()
