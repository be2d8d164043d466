"""Where things are in the sandbox, as constants.

The harness says where each place is when it starts the environment host (`initialize`); before that, and in a program
that is not run by chalk, CHALK_PATHS_<NAME> variables and then the sandbox's own layout count.
"""

import os


class Location(str):
    """A path that is a string, with the few methods that a task needs. pathlib would cost a third of our start."""

    __slots__ = ()

    def __truediv__(self, other):
        return Location(os.path.join(self, other))

    def exists(self):
        return os.path.exists(self)

    def mkdir(self, mode=0o777):
        """Makes the folder and its parents; an existing one is fine."""
        os.makedirs(self, mode, exist_ok=True)
        return self

    def read_text(self):
        with open(self, encoding="utf-8") as file:
            return file.read()

    def read_bytes(self):
        with open(self, "rb") as file:
            return file.read()

    def write_text(self, text):
        with open(self, "w", encoding="utf-8") as file:
            file.write(text)

    def write_bytes(self, data):
        with open(self, "wb") as file:
            file.write(data)


# name in the protocol -> (constant, place in a sandbox)
_PLACES = {
    "workdir": ("STUDENT_WORKDIR", "/workdir"),
    "student_data": ("STUDENT_DATA", "/workdir/data"),
    "shared_data": ("SHARED_DATA", "/workdir/shared"),
    "root_data": ("ROOT_DATA", "/root_data"),
    "intermediate_data": ("INTERMEDIATE_DATA", "/intermediate_data"),
    "out": ("OUT_DIR", "/out"),
    "environment": ("ENVIRONMENT_DIR", "/root/environment"),
}


def configure(paths):
    """Sets the constants from `initialize`'s paths. Called before the environment's code is imported."""
    for name, path in paths.items():
        if name in _PLACES:
            globals()[_PLACES[name][0]] = Location(path)


for _name, (_constant, _default) in _PLACES.items():
    globals()[_constant] = Location(os.environ.get("CHALK_PATHS_" + _name.upper(), _default))
