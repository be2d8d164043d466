"""Fails on an include against the direction protocol <- config <- runtimes <- actors <- cli.

Also: CAF's headers stay in actors/ (a later CAF then touches that folder alone), Catch2's behind
tests/support/catch.hpp, and nothing outside bench and tests includes bench or tests (but a component's own
*.test.cpp).
"""

import pathlib
import re
import subprocess
import sys

ORDER = ["protocol", "config", "runtimes", "actors", "cli"]
FREE = {"bench", "tests"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def folder_of(path: str) -> str:
    return path.split("/", 1)[0]


def faults(root: pathlib.Path, files: list[str]):
    for name in files:
        folder = folder_of(name)
        is_test = name.endswith((".test.cpp", ".test.hpp", ".fuzz.cpp"))
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            included = match.group(1)
            target = folder_of(included)
            where = f"{name}:{number}"
            if included.startswith("caf/") and folder not in {"actors", "bench"}:
                yield f"{where}: CAF is included in actors/ alone"
            if included.startswith("catch2/") and not name.startswith("tests/support/"):
                yield f'{where}: include "tests/support/catch.hpp", which bridges Catch2 2 and 3'
            if folder in ORDER and target in ORDER and ORDER.index(target) > ORDER.index(folder):
                yield f"{where}: {folder}/ includes {target}/; the direction is {' <- '.join(ORDER)}"
            if folder not in FREE and target in FREE and not is_test and "/" in included:
                yield f"{where}: {folder}/ includes {target}/, which nothing may include"
            if folder in {"sdk", "examples"} and target in ORDER:
                yield f"{where}: {folder}/ stands alone and includes nothing of {target}/"


def self_test(tmp: pathlib.Path) -> None:
    """The check must see a fault when there is one."""
    (tmp / "protocol").mkdir()
    (tmp / "protocol/a.hpp").write_text('#include "cli/b.hpp"\n#include <caf/all.hpp>\n')
    found = list(faults(tmp, ["protocol/a.hpp"]))
    assert len(found) == 2, found


def main() -> int:
    import tempfile

    with tempfile.TemporaryDirectory() as tmp:
        self_test(pathlib.Path(tmp))
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.cpp", "*.hpp", "*.h", "*.c"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split()
    found = [fault for fault in faults(root, [f for f in listed if (root / f).exists()])]
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print(f"include direction: {len(listed)} files, none against the direction")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
