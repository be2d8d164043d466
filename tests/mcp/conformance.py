"""Every scenario of the official conformance suite. Those that expected_failures.yml lists must fail, all others pass."""

import json
import pathlib
import shutil

import node_packages


# Not in the active suite of this version, and ours all the same.
PENDING = ("json-schema-2020-12", "server-sse-polling")


def run(url: str, results: pathlib.Path, *what: str) -> None:
    suite = node_packages.node("@modelcontextprotocol/conformance/dist/index.js", "server", "--url", url, *what,
                               "--expected-failures", str(node_packages.SOURCE / "expected_failures.yml"),
                               "--output-dir", str(results), seconds=240)
    print(suite.stdout, suite.stderr, sep="")
    assert suite.returncode == 0, f"the suite ended with {suite.returncode}"


def main() -> None:
    node_packages.install()
    results = node_packages.FOLDER / "conformance"
    shutil.rmtree(results, ignore_errors=True)
    with node_packages.fixture() as (url, _):
        run(url, results, "--suite", "active")
        for scenario in PENDING:
            run(url, results, "--scenario", scenario)
    # The suite counts a warning as a pass; a scenario that is ours has none.
    expected = (node_packages.SOURCE / "expected_failures.yml").read_text()
    checked = 0
    for path in sorted(results.rglob("checks.json")):
        for check in json.loads(path.read_text()):
            if check["status"] == "SUCCESS":
                checked += 1
            elif check["status"] not in ("INFO", "SKIPPED"):
                scenario = pathlib.Path(path).parent.name.removeprefix("server-")
                assert any(scenario.startswith(line[4:]) for line in expected.splitlines() if line.startswith("  - ")), \
                    f"{scenario}: {check['id']} is {check['status']}: {check.get('errorMessage')}"
    assert checked > 20, f"only {checked} checks passed: did the suite run?"
    print(f"ok: {checked} checks passed")


main()
