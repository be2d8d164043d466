"""The tool server against the official TypeScript client, which npm installs below the build folder."""

import os
import pathlib
import shutil
import subprocess
import sys

BUILD = pathlib.Path(os.environ["CHALK_BUILD"])
SOURCE = pathlib.Path(os.environ["CHALK_SOURCE"]) / "tests/mcp"
TOKEN = "a-token-for-this-test"


def skip(reason: str) -> None:
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def install() -> pathlib.Path:
    """The folder in which client.mjs finds its package."""
    folder = BUILD / "tests/mcp/node"
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip("node and npm are missing: apt install nodejs npm")
    wanted = (SOURCE / "package.json").read_bytes()
    here = folder / "package.json"
    shutil.copy(SOURCE / "client.mjs", folder)
    if here.exists() and here.read_bytes() == wanted and (folder / "node_modules/@modelcontextprotocol/sdk").exists():
        return folder
    here.write_bytes(wanted)
    # The versions of what the package itself needs are not pinned; no lock file may name a registry.
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--fetch-retries=1"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150)
    except subprocess.TimeoutExpired:
        here.unlink()
        skip("npm install did not end within 150 s")
    if done.returncode != 0:
        here.unlink()
        skip(f"npm install failed, npm's registry may be out of reach: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def main() -> None:
    folder = install()
    server = subprocess.Popen([BUILD / "tests/mcp/chalk_mcp_fixture", TOKEN], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip()
        client = subprocess.run(["node", "client.mjs", port, TOKEN], cwd=folder, timeout=60)
        server.stdin.close()
        said = server.stdout.read()
        assert server.wait(timeout=10) == 0, f"the server ended with {server.returncode}"
        assert client.returncode == 0, f"the client ended with {client.returncode}"
        assert said.count("cancelled") == 1, f"one call was cancelled, the server says: {said!r}"
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
    print("ok")


main()
