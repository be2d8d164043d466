"""Rewrites GCC's compile commands for clang-tidy: without precompiled headers and options that clang does not know."""

import json
import re
import sys

GCC_ONLY = re.compile(r"\s-(include \S*cmake_pch\.hxx|Winvalid-pch|fno-sanitize-recover=all|Wno-maybe-uninitialized)(?=\s)")


def main() -> None:
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        command["command"] = GCC_ONLY.sub("", command["command"])
    with open(target, "w", encoding="utf-8") as file:
        json.dump(commands, file)


if __name__ == "__main__":
    main()
