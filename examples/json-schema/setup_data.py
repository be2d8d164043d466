#!/usr/bin/python3
# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Copies the public JSON Schema test suite (Debian package json-schema-test-suite) into root_data/.

Run it before the first run: /usr/bin/python3 setup_data.py [FOLDER OF THE SUITE]
"""

import os
import shutil
import sys

DEBIAN_COPY = "/usr/share/json-schema-test-suite"


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else DEBIAN_COPY
    if not os.path.isdir(os.path.join(source, "tests", "draft7")):
        sys.exit(source + " holds no JSON Schema test suite; install it: apt-get install json-schema-test-suite")
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "root_data", "suite")
    shutil.rmtree(target, ignore_errors=True)
    # Only the required cases: those below optional/ are not part of the score.
    shutil.copytree(
        os.path.join(source, "tests", "draft7"),
        os.path.join(target, "tests", "draft7"),
        ignore=shutil.ignore_patterns("optional"),
    )
    shutil.copytree(os.path.join(source, "remotes"), os.path.join(target, "remotes"))
    print("wrote " + target)


if __name__ == "__main__":
    main()
