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
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150)
    except subprocess.TimeoutExpired:
        here.unlink()
        raise unittest.SkipTest("npm install did not end within 150 s")
    if done.returncode != 0:
        here.unlink()
        raise unittest.SkipTest(f"npm install failed, npm's registry may be out of reach: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def install_pip(requirement):
    """A venv with this requirement; the folder of its programs."""
    folder = BUILD / "tests/gateway/litellm"
    done = folder / "installed"
    if done.exists() and done.read_text() == requirement:
        return folder / "bin"
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=120)
        subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", "--retries=1", requirement],
                       check=True, capture_output=True, text=True, timeout=700)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"installing {requirement} took too long")
    except subprocess.CalledProcessError as why:
        raise unittest.SkipTest(f"pip could not install {requirement}, PyPI may be out of reach: {str(why.stderr).strip()[-200:]}")
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
