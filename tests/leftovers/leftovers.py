"""Holds the machine after the tests against a picture taken before them.

Whatever chalk makes must be gone: processes, mounts, cgroups, network namespaces, loop devices, temporary folders.
Usage: leftovers.py before|after FILE
"""

import json
import os
import pathlib
import sys
import time

# What bears chalk's name; anything else on the machine may come and go as it likes.
PROGRAMS = ("chalk", "chalk-nest", "chalk-file-tool")
FOLDERS = (pathlib.Path("/tmp"), pathlib.Path("/run"), pathlib.Path("/dev/shm"), pathlib.Path("/var/tmp"))
# Folders that stay by design: the node's state root and its lock, empty of owners.
SETTLE_SECONDS = 10


def processes() -> set[str]:
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        words = [word.decode(errors="replace") for word in command if word]
        ours = words and (os.path.basename(words[0]) in PROGRAMS or "chalk.host" in words)
        if ours and state != "Z":
            found.add(f"process {entry.name}: {' '.join(words)[:120]}")
    return found


def mounts() -> set[str]:
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return {"mount " + " ".join(line.split()[3:5]) for line in file}


def cgroups() -> set[str]:
    found = set()
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        for folder in folders:
            path = os.path.join(root, folder)
            if "/chalk/" in path:
                found.add(f"cgroup {path}")
    return found


def loop_devices() -> set[str]:
    return {
        f"loop device {path.parent.parent.name}: {path.read_text().strip()}"
        for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file")
    }


def folders() -> set[str]:
    found = {f"folder {path}" for parent in FOLDERS if parent.is_dir() for path in parent.glob("chalk*")}
    # The state folder itself stays; owners below it do not.
    found.discard("folder /run/chalk")
    state = pathlib.Path("/run/chalk")
    if state.is_dir():
        found |= {f"folder {path}" for path in state.iterdir() if path.is_dir()}
    return found


def namespaces() -> set[str]:
    folder = pathlib.Path("/run/netns")
    return {f"network namespace {path.name}" for path in folder.iterdir()} if folder.is_dir() else set()


def picture() -> set[str]:
    return processes() | mounts() | cgroups() | loop_devices() | folders() | namespaces()


def main() -> int:
    moment, file = sys.argv[1], pathlib.Path(sys.argv[2])
    if moment == "before":
        file.write_text(json.dumps(sorted(picture())), encoding="utf-8")
        return 0
    before = set(json.loads(file.read_text(encoding="utf-8")))
    # The kernel tears network namespaces and cgroups down behind the last close: ask again until a deadline.
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        left = sorted(picture() - before)
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    for item in left:
        print(f"left behind: {item}")
    print(f"leftovers: {len(left)}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
