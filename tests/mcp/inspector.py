"""Inspector's command line: lists tools, calls one, and loads the server with 2,000 calls, 50 at once, in both forms of
the protocol. None may be lost."""

import json

import node_packages

TOKEN = "a-token-for-this-test"
CALLS = 2000


def inspect(url: str, *arguments: str) -> dict:
    done = node_packages.node("@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", url,
                              "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}", "--format", "json",
                              *arguments, seconds=120)
    assert done.returncode == 0, f"{arguments}: {done.returncode}, {done.stdout}{done.stderr}"
    print(arguments, done.stdout.strip()[:1500])
    return json.loads(done.stdout)


def main() -> None:
    node_packages.install()
    with node_packages.fixture(TOKEN) as (url, said):
        for era in ("legacy", "modern"):
            listed = inspect(url, "--protocol-era", era, "--method", "tools/list")
            assert "test_simple_text" in json.dumps(listed)
            called = inspect(url, "--protocol-era", era, "--method", "tools/call", "--tool-name", "echo", "--tool-arg",
                             "text=hello")
            assert "hello" in json.dumps(called)
            load = inspect(url, "--protocol-era", era, "--method", "tools/call", "--tool-name", "echo", "--tool-arg",
                           "text=hello", "--load", "--load-requests", str(CALLS), "--load-concurrency", "50")
            counts = {key: load["result"][key] for key in ("requests", "ok", "toolErrors", "errors")}
            assert counts == {"requests": CALLS, "ok": CALLS, "toolErrors": 0, "errors": 0}, load
    assert said == [], f"a call was lost: {said}"
    print("ok")


main()
