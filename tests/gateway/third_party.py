"""Programs of others that stand in for providers: installed below the build folder where their registry answers."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

BUILD = pathlib.Path(os.environ["CHALK_BUILD"])
SOURCE = pathlib.Path(__file__).parent


def run(command, seconds, cwd=None):
    """None: it did well; else what was wrong."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"no end within {seconds} s"
    return None if done.returncode == 0 else done.stderr.strip()[-2000:] or f"exit code {done.returncode}"


def give_up(what, why, registry, ping):
    """A registry that does not answer is what a machine lacks; where it does, the test fails."""
    if run(ping, 30) is None:
        raise AssertionError(f"{registry} answers, but {what} could not be installed: {why}")
    raise unittest.SkipTest(f"{registry} does not answer, and {what} is not installed: {why.splitlines()[0]}")


def install_npm():
    """The folder that holds what package.json names."""
    folder = BUILD / "tests/gateway/node"
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise unittest.SkipTest("node and npm are missing: apt install nodejs npm")
    wanted, here = (SOURCE / "package.json").read_bytes(), folder / "package.json"
    if here.exists() and here.read_bytes() == wanted and (folder / "node_modules").exists():
        return folder
    here.write_bytes(wanted)
    # The versions of what the package itself needs are not pinned; no lock file may name a registry.
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--fetch-retries=1"]
    if why := run(command, 150, folder):
        here.unlink()
        give_up("what package.json names", why, "npm's registry",
                ["npm", "ping", "--fetch-retries=0", "--fetch-timeout=10000"])
    return folder


def install_pip(requirement):
    """A venv with this requirement; the folder of its programs."""
    folder = BUILD / "tests/gateway/litellm"
    done = folder / "installed"
    if done.exists() and done.read_text() == requirement:
        return folder / "bin"
    if why := run([sys.executable, "-m", "venv", folder], 120):
        raise unittest.SkipTest(f"a virtual environment cannot be made (apt install python3-venv): {why}")
    pip = [folder / "bin/pip", "--disable-pip-version-check"]
    if why := run([*pip, "install", "-q", "--retries=1", requirement], 700):
        give_up(requirement, why, "PyPI", [*pip, "index", "versions", "pip", "--retries=0", "--timeout=10"])
    done.write_text(requirement)
    return folder / "bin"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(process, url, seconds):
    """Until something answers at `url`, whatever it says."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"it ended with {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing answered at {url} within {seconds} s")
